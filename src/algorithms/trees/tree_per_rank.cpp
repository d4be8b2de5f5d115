/// Every rank's data takes a tree of its own: in an allgather from the rank to all others, in a
/// reduce_scatter or alltoall from all others to it. In an allreduce each rank gets the sum of an
/// equal part of the vector in this way and sends it back the same way. Each link of a tree is
/// chosen so that the data arrives earliest, given what ports, trunks and CPUs have to carry for
/// the other trees. So data goes straight to its receivers where that is best, and otherwise
/// through any number of relays: around long or slow links, and once instead of many times over a
/// trunk. Without segments, data of several trees that takes a link at the same time travels in one
/// message.
/// Source: Bhat, Raghavendra, Prasanna: Efficient Collective Communication in Distributed
/// Heterogeneous Systems (earliest completing edge first), for many trees at once as in Aspnes et
/// al.: On-line Routing of Virtual Circuits (each route goes by the loads of all others).
#include "algorithms/quick.hpp"
#include "algorithms/ranges.hpp"
#include "algorithms/segments.hpp"
#include "algorithms/site_graph.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using collective::no_rank;
using network::HostId;
using schedule::How;
using schedule::Step;

/// The trees of more ranks take too long to build.
constexpr Rank most_ranks = 128, most_quick_ranks = 32;
/// The bytes of a part of a vector below which its messages aren't worth their overhead.
constexpr Size least_part = 1024;
/// How often each tree is built anew, given all others.
constexpr int passes = 3;

using Trees = std::vector<std::vector<Rank>>; ///< by root, then rank: its parent

Rank root_of(const std::vector<Rank>& parents) {
  return static_cast<Rank>(std::ranges::find(parents, no_rank) - parents.begin());
}

/// Whether data flows from a tree's root to the others.
bool flows_out(Kind kind) { return kind == Kind::allgather || kind == Kind::allreduce; }
/// Whether data flows from the others to a tree's root.
bool flows_in(Kind kind) { return !flows_out(kind) || kind == Kind::allreduce; }
/// Whether ranks combine what flows in.
bool combines(Kind kind) { return flows_in(kind) && kind != Kind::alltoall; }
/// Returns the trees that share the bytes of Collective::size.
Rank shares(const Collective& collective) {
  return collective.kind == Kind::allreduce ? collective.ranks : 1;
}

/// Builds all trees.
class Router {
public:
  explicit Router(const Problem& problem)
      : _problem(problem), _graph(site_graph(problem, DataFlow::spread)),
        _ranks(problem.collective.ranks),
        _bytes(static_cast<double>(problem.collective.size) / shares(problem.collective)),
        _host_of(index(_ranks)), _egress(_graph.hosts.size(), 0), _ingress(_egress), _cpu(_egress),
        _trunk(_graph.trunks.size(), 0),
        _trees(index(_ranks), std::vector<Rank>(index(_ranks), no_rank)) {
    for (HostId host = 0; host < _graph.size(); ++host)
      for (const Rank rank : _graph.ranks[index(host)])
        _host_of[index(rank)] = host;
    const std::size_t sites = _graph.sites.size();
    _crossed.resize(sites * sites);
    for (std::size_t from = 0; from < sites; ++from)
      for (std::size_t to = 0; to < sites; ++to)
        for (std::size_t trunk = 0; trunk < _graph.trunks.size(); ++trunk)
          if (_graph.trunks[trunk].from[from] && _graph.trunks[trunk].to[to])
            _crossed[from * sites + to].push_back(trunk);
  }

  Trees build() {
    for (int pass = 0; pass < passes; ++pass)
      for (Rank root = 0; root < _ranks; ++root) {
        if (pass > 0) load(root, -1);
        route(root);
        load(root, 1);
      }
    return std::move(_trees);
  }

private:
  [[nodiscard]] const std::vector<std::size_t>& trunks(HostId from, HostId to) const {
    return _crossed[index(_graph.site_of[index(from)]) * _graph.sites.size() +
                    index(_graph.site_of[index(to)])];
  }
  /// Calls `each` with the hosts of each direction in which data takes a link of a tree.
  template <class Each>
  void for_each_flow(Rank parent, Rank child, const Each& each) const {
    const HostId upper = _host_of[index(parent)], lower = _host_of[index(child)];
    if (flows_out(_problem.collective.kind)) each(upper, lower);
    if (flows_in(_problem.collective.kind)) each(lower, upper);
  }
  /// Returns the seconds that data takes over a link of a tree once it is at its beginning.
  [[nodiscard]] double time(Rank parent, Rank child) const {
    double sum = 0;
    for_each_flow(parent, child, [&](HostId from, HostId to) { sum += time_between(from, to); });
    return sum;
  }
  [[nodiscard]] double time_between(HostId from, HostId to) const {
    double wait = std::max(_cpu[index(from)], _cpu[index(to)]);
    const HostId a = _graph.hosts[index(from)], b = _graph.hosts[index(to)];
    const double latency = _problem.network.latency(a, b).value() +
                           (_problem.cost.send + _problem.cost.receive).value();
    if (from == to) return wait + latency;
    wait = std::max({wait, _egress[index(from)], _ingress[index(to)]});
    double rate = std::min(
        {_graph.bandwidth(from, to), _graph.egress[index(from)], _graph.ingress[index(to)]});
    for (const std::size_t trunk : trunks(from, to)) {
      wait = std::max(wait, _trunk[trunk]);
      rate = std::min(rate, _graph.trunks[trunk].capacity);
    }
    return wait + latency + _bytes / rate;
  }

  /// Adds the data of a tree's link to all that carries it, `sign` times.
  void load(Rank parent, Rank child, double sign) {
    for_each_flow(parent, child, [&](HostId from, HostId to) { load_between(from, to, sign); });
  }
  void load_between(HostId from, HostId to, double sign) {
    const double bytes = sign * _bytes;
    _cpu[index(from)] += sign * _problem.cost.send.value();
    _cpu[index(to)] += sign * _problem.cost.receive.value();
    if (from == to) return;
    _egress[index(from)] += bytes / _graph.egress[index(from)];
    _ingress[index(to)] += bytes / _graph.ingress[index(to)];
    for (const std::size_t trunk : trunks(from, to))
      _trunk[trunk] += bytes / _graph.trunks[trunk].capacity;
  }
  void load(Rank root, double sign) {
    const std::vector<Rank>& parents = _trees[index(root)];
    for (Rank rank = 0; rank < _ranks; ++rank)
      // An alltoall's blocks are as many as the ranks below a link; others have one.
      for (Rank at = rank; parents[index(at)] != no_rank; at = parents[index(at)]) {
        load(parents[index(at)], at, sign);
        if (_problem.collective.kind != Kind::alltoall) break;
      }
  }

  /// Joins the ranks to a root's tree, each where its data arrives earliest (Dijkstra's algorithm).
  void route(Rank root) {
    std::vector<Rank>& parents = _trees[index(root)];
    std::ranges::fill(parents, no_rank);
    std::vector<double> arrival(index(_ranks), std::numeric_limits<double>::infinity());
    arrival[index(root)] = 0;
    std::vector<Rank> outside(index(_ranks));
    std::iota(outside.begin(), outside.end(), 0);
    while (!outside.empty()) {
      const auto next =
          std::ranges::min_element(outside, {}, [&](Rank rank) { return arrival[index(rank)]; });
      const Rank joined = *next;
      outside.erase(next);
      for (const Rank rank : outside) {
        const double then = arrival[index(joined)] + time(joined, rank);
        if (then < arrival[index(rank)]) {
          arrival[index(rank)] = then;
          parents[index(rank)] = joined;
        }
      }
    }
  }

  const Problem& _problem;
  SiteGraph _graph;
  Rank _ranks;
  double _bytes; ///< of a block, or of a part of the vector
  std::vector<HostId> _host_of;
  /// Seconds for which each is occupied by the data of all trees.
  std::vector<double> _egress, _ingress, _cpu, _trunk;
  std::vector<std::vector<std::size_t>> _crossed; ///< trunks, by sites
  Trees _trees;
};

/// Collects the messages of one rank, or of all.
class Messages {
public:
  Messages(Kind kind, const Skeleton& skeleton, Rank only)
      : _kind(kind), _skeleton(skeleton), _only(only) {
    for (const std::vector<Rank>& parents : skeleton.parents)
      add_tree(parents);
  }
  void emit(Sink& sink) {
    for (auto& [key, chunks] : _messages) {
      std::ranges::sort(chunks);
      if (_skeleton.segment_size == 0)
        sink.add(key.from, key.to, key.step, key.how, to_ranges(chunks));
      else
        for (const ChunkId chunk : chunks)
          sink.add(key.from, key.to, key.step, key.how, schedule::Range{chunk, 1, 1});
    }
  }

private:
  struct Key {
    Step step;
    Rank from, to;
    How how;
    auto operator<=>(const Key&) const = default;
  };

  /// Adds a chunk that travels in a round. In each round ranks send first to those just above them,
  /// so that they don't all send to the same one at once.
  void add(Rank from, Rank to, Step round, How how, ChunkId chunk) {
    if (_only != no_rank && _only != from && _only != to) return;
    const Rank ranks = _skeleton.ranks;
    const Step step = round * ranks + (to - from + ranks) % ranks;
    _messages[{step, from, to, how}].push_back(chunk);
  }

  void add_tree(const std::vector<Rank>& parents) {
    const Rank ranks = _skeleton.ranks, root = root_of(parents);
    std::vector<Rank> depth(index(ranks), 0), top_down;
    for (Rank rank = 0; rank < ranks; ++rank) {
      for (Rank at = rank; parents[index(at)] != no_rank; at = parents[index(at)])
        ++depth[index(rank)];
      if (rank != root) top_down.push_back(rank);
    }
    std::ranges::stable_sort(top_down, {}, [&](Rank rank) { return depth[index(rank)]; });
    Step round = 0;
    if (combines(_kind)) round = add_reduction(parents, top_down);
    if (_kind == Kind::reduce_scatter) return;
    for (const Rank rank : top_down) {
      const Rank parent = parents[index(rank)];
      if (flows_out(_kind)) {
        add(parent, rank, round + depth[index(rank)] - 1, How::copy, root);
        continue;
      }
      // Blocks with relays go first.
      Step turn = depth[index(rank)] > 1 ? 0 : 1;
      for (Rank at = rank; at != root; at = parents[index(at)])
        add(at, parents[index(at)], turn++, How::copy, ChunkId{rank} * ranks + root);
    }
  }

  /// Adds the contributions to a root's data: each rank sends its own with all from below it.
  /// Returns the round in which the root has all.
  Step add_reduction(const std::vector<Rank>& parents, const std::vector<Rank>& top_down) {
    const Rank root = root_of(parents);
    std::vector<Step> height(parents.size(), 0);
    for (auto at = top_down.rbegin(); at != top_down.rend(); ++at) {
      Step& above = height[index(parents[index(*at)])];
      above = std::max(above, height[index(*at)] + 1);
    }
    struct Contribution {
      Step round;
      Rank distance, from;
    };
    std::map<Rank, std::vector<Contribution>> incoming;
    for (const Rank rank : top_down) {
      const Rank parent = parents[index(rank)];
      const Rank distance = (parent - rank + _skeleton.ranks) % _skeleton.ranks;
      incoming[parent].push_back({height[index(rank)], distance, rank});
    }
    std::vector<Rank> lowest(parents.size());
    const auto combine = [&](Rank at) {
      lowest[index(at)] = at;
      auto& contributions = incoming[at];
      std::ranges::sort(contributions, {}, [](const Contribution& each) {
        return std::pair(each.round, each.distance);
      });
      for (const Contribution& each : contributions) {
        Rank& present = lowest[index(at)];
        const bool left = lowest[index(each.from)] < present;
        present = std::min(present, lowest[index(each.from)]);
        add(each.from, at, each.round, left ? How::combine_left : How::combine_right, root);
      }
    };
    for (auto at = top_down.rbegin(); at != top_down.rend(); ++at)
      combine(*at);
    combine(root);
    return height[index(root)];
  }

  Kind _kind;
  const Skeleton& _skeleton;
  Rank _only;
  std::map<Key, std::vector<ChunkId>> _messages;
};

class TreePerRank final : public Algorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "tree-per-rank"; }
  [[nodiscard]] std::string_view source() const override {
    return "Bhat, Raghavendra, Prasanna: Efficient Collective Communication in Distributed "
           "Heterogeneous Systems; Aspnes et al.: On-line Routing of Virtual Circuits";
  }
  [[nodiscard]] bool supports(Kind kind) const override {
    using enum Kind;
    return kind == allgather || kind == reduce_scatter || kind == alltoall || kind == allreduce;
  }
  [[nodiscard]] bool can_do(const Collective& collective) const override {
    return Algorithm::can_do(collective) && collective.ranks <= most_ranks;
  }
  [[nodiscard]] std::string_view needed_ranks() const override { return "at most 128 ranks"; }
  [[nodiscard]] bool builds_quickly(Rank ranks) const override { return ranks <= most_quick_ranks; }
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override {
    const Collective& collective = problem.collective;
    if (collective.ranks > most_trees_per_rank) return {};
    if (collective.size < least_part * (shares(collective) - 1)) return {};
    const Size message = message_size(problem) * shares(collective);
    return {{.segment_size = collective.size > message ? message : 0}};
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    Skeleton skeleton = begin(problem, parameters);
    skeleton.chunks = problem.collective.blocks() * shares(problem.collective);
    skeleton.parents = Router(problem).build();
    const Kind kind = problem.collective.kind;
    const int directions = (flows_out(kind) ? 1 : 0) + (flows_in(kind) ? 1 : 0);
    const std::int64_t messages = 2 * std::int64_t{skeleton.ranks} * directions *
                                  skeleton.pipeline(problem.collective.size).segments;
    skeleton.window = schedule::window_for(messages);
    return skeleton;
  }

  void check(const Skeleton& skeleton) const override {
    check_lists(skeleton, {"parents"});
    check_trees(skeleton);
    std::vector<Rank> roots;
    for (const std::vector<Rank>& parents : skeleton.parents)
      roots.push_back(root_of(parents));
    check_permutation(roots, 0, skeleton.ranks);
  }

  void emit(Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const override {
    Messages(kind, skeleton, rank).emit(sink);
    sink.sort();
  }
};

} // namespace

const Algorithm& tree_per_rank() {
  static const TreePerRank algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
