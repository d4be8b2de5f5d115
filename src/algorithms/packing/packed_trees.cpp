/// Several trees at once, each with a share of the data that suits its links. The trees are packed
/// exactly on the graph of sites, so that trunks, including relays through third sites, carry as
/// much as they can together, and are laid over the hosts so that all ports are busy and the trees
/// shallow. A bcast flows down the trees, a reduction up, an allreduce up and down again. In an
/// allgather each rank sends up what lies below it, and gets everything else from above; a
/// reduce_scatter is the reverse.
/// Source: Edmonds: Edge-Disjoint Branchings (trees fill the narrowest cut); Sanders, Speck, Träff:
/// Two-tree Algorithms for Full Bandwidth Broadcast, Reduction and Scan.
#include "algorithms/packing/host_trees.hpp"
#include "algorithms/packing/tree_flow.hpp"
#include "algorithms/segments.hpp"
#include "algorithms/trees/tree.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using collective::no_rank;
using network::HostId;
using network::no_host;

/// Numbers of trees to try. With k trees a host has up to k children in one and none in the others.
/// times.
constexpr std::int32_t tree_counts[] = {8, 4, 2, 1};
constexpr std::size_t most_candidates = 6;
constexpr Size smallest_message = 2048;
/// Estimates that exceed the best by no more than this are as good: the fewer messages, the better.
constexpr double as_good = 1.01;
/// The most segments that go up while others come down: more would wait for each other.
constexpr Size most_two_directional = 96;
/// The most blocks in all messages together, so that expanding them takes a second at most.
constexpr Size most_moved = 16'000'000;
constexpr std::int32_t weight_scale = 10000;
/// Fractions of the largest rate that are tried.
constexpr double shares[] = {1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.25};
/// The weight of latency: ranks whose trees have paths of different length wait for each other.
constexpr double latency_weight = 4;
constexpr double little = 0.05;
/// The longest gap, in segments.
constexpr std::int32_t longest_gap = 64;

Crossing crossing_of(Kind kind) {
  if (kind == Kind::allreduce) return Crossing::both;
  return collective::is_rooted(kind) ? Crossing::down : Crossing::blocks;
}

/// Builds the trees over hosts and lays them over ranks.
class Builder {
public:
  Builder(const Problem& problem, const Parameters& parameters)
      : _problem(problem), _parameters(parameters),
        _graph(site_graph(problem, flow_of(problem.collective.kind))) {}

  void fill(Skeleton& skeleton) {
    const HostTrees laid = lay();
    for (const HostTree& tree : laid.trees)
      add_tree(tree, skeleton);
    double total = 0;
    for (const HostTree& tree : laid.trees)
      total += tree.rate;
    const bool equal = std::ranges::all_of(laid.trees, [&](const HostTree& tree) {
      return std::abs(tree.rate - laid.trees.front().rate) < 1e-6 * total;
    });
    for (const HostTree& tree : laid.trees)
      if (!equal)
        skeleton.weights.push_back(
            std::max(1, static_cast<std::int32_t>(tree.rate / total * weight_scale + 0.5)));
    const auto trees = static_cast<ChunkId>(laid.trees.size());
    skeleton.chunks = _problem.collective.blocks() * trees;
    skeleton.period = busiest(skeleton);
    add_delays(laid, skeleton);
  }

private:
  [[nodiscard]] Rank ranks() const { return _problem.collective.ranks; }

  /// Returns how many messages a rank has in flight.
  [[nodiscard]] double window() const {
    return _parameters.window > 0 ? _parameters.window : schedule::usual_window;
  }

  [[nodiscard]] HostId root_host() const {
    const collective::Collective& collective = _problem.collective;
    if (!collective::is_rooted(collective.kind)) return no_host;
    const auto at = std::ranges::find(_graph.hosts, _problem.placement[index(collective.root)]);
    return static_cast<HostId>(at - _graph.hosts.begin());
  }

  /// Returns the most trees: each rank of a host leads in at most as many as there are other hosts.
  [[nodiscard]] std::int32_t most_trees() const {
    std::size_t leaders = index(ranks());
    for (const auto& own : _graph.ranks)
      leaders = std::min(leaders, own.size());
    return (_graph.size() - 1) * static_cast<std::int32_t>(leaders);
  }

  /// Lays the trees for the largest rate or, if latency then costs too much, for a lower one, with
  /// which trees pass fewer sites one after the other.
  [[nodiscard]] HostTrees lay() const {
    const HostId root = root_host();
    if (_graph.size() == 1) return plain_tree(root);
    Packing packing{crossing_of(_problem.collective.kind), SiteGraph::no_site,
                    root == no_host ? std::numeric_limits<double>::infinity()
                                    : _graph.egress[index(root)]};
    if (root != no_host) packing.root = _graph.site_of[index(root)];
    for (HostId host = 0; host < _graph.size(); ++host)
      if (host != root) packing.most = std::min(packing.most, _graph.ingress[index(host)]);
    const std::int32_t count = std::clamp(_parameters.degree, 1, most_trees());
    HostTrees best;
    double least = std::numeric_limits<double>::infinity(), largest = 0;
    for (const double share : shares) {
      Packing slower = packing;
      if (largest > 0) slower.most = largest * share;
      HostTrees laid = lay_host_trees(_graph, pack_site_trees(_graph, slower), count, root);
      largest = std::max(largest, laid.rate);
      const double flow = static_cast<double>(_problem.collective.total()) / laid.rate;
      const double passes = root == no_host ? 2 : 1;
      const double wait = passes * latency_weight * longest_path(laid);
      if (flow + wait < least) {
        least = flow + wait;
        best = std::move(laid);
      }
      if (wait < little * flow || _graph.sites.size() == 1) break;
    }
    return best.trees.empty() ? plain_tree(root) : best;
  }

  /// Returns a single tree, of whose rate nothing is known.
  [[nodiscard]] HostTrees plain_tree(HostId root) const {
    std::vector<HostId> hosts(_graph.hosts.size());
    std::iota(hosts.begin(), hosts.end(), 0);
    if (root != no_host) std::swap(hosts.front(), hosts[index(root)]);
    HostTree tree{std::vector<HostId>(hosts.size(), no_host), {hosts.front()}, 1};
    join_binomially(hosts, tree.order, tree.parents);
    return {{std::move(tree)}, 1};
  }

  /// Returns the longest latency, in seconds, from any root to its farthest host.
  [[nodiscard]] double longest_path(const HostTrees& laid) const {
    double longest = 0;
    for (const HostTree& tree : laid.trees) {
      std::vector<double> latency(tree.parents.size(), 0);
      for (const HostId host : tree.order)
        if (const HostId parent = tree.parents[index(host)]; parent != no_host) {
          latency[index(host)] = latency[index(parent)] + _graph.latency(parent, host);
          longest = std::max(longest, latency[index(host)]);
        }
    }
    return longest;
  }

  /// Adds a tree in which one of a host's ranks, each in turn, leads and the others follow it.
  void add_tree(const HostTree& tree, Skeleton& skeleton) const {
    const std::size_t number = skeleton.parents.size();
    std::vector<Rank>& parents = skeleton.parents.emplace_back(index(ranks()), no_rank);
    std::vector<Rank> leaders, order;
    for (HostId host = 0; host < _graph.size(); ++host) {
      const auto& own = _graph.ranks[index(host)];
      leaders.push_back(own[number % own.size()]);
      if (tree.parents[index(host)] == no_host && collective::is_rooted(_problem.collective.kind))
        leaders.back() = _problem.collective.root;
    }
    for (const HostId host : tree.order) {
      const Rank leader = leaders[index(host)];
      if (tree.parents[index(host)] != no_host)
        parents[index(leader)] = leaders[index(tree.parents[index(host)])];
      std::vector<Rank> group = _graph.ranks[index(host)];
      std::erase(group, leader);
      group.insert(group.begin(), leader);
      order.push_back(leader);
      join_binomially(group, order, parents);
    }
    if (skeleton.order.empty()) skeleton.order = std::move(order);
  }

  /// Returns the messages of a segment that the busiest rank sends, or receives.
  [[nodiscard]] schedule::Step busiest(const Skeleton& skeleton) const {
    std::vector<schedule::Step> served(index(ranks()));
    for (const auto& parents : skeleton.parents)
      for (const Rank parent : parents)
        if (parent != no_rank) ++served[index(parent)];
    const bool both_directions = !collective::is_rooted(_problem.collective.kind);
    return std::max<schedule::Step>(1, *std::ranges::max_element(served)) +
           (both_directions ? static_cast<schedule::Step>(skeleton.parents.size()) : 0);
  }

  /// Adds the steps by which links are slow: their latency, and the time for which a message shares
  /// its port with others.
  void add_delays(const HostTrees& laid, Skeleton& skeleton) const {
    const schedule::Pipeline pipeline = skeleton.pipeline(_problem.collective.size);
    const double bytes = static_cast<double>(_problem.collective.total()) / pipeline.segments;
    if (pipeline.segments == 1 || bytes <= 0) return;
    const double step_time = bytes / laid.rate / skeleton.period;
    const double most =
        std::min<double>(longest_delay, static_cast<double>(pipeline.segments) * skeleton.period);
    const double hop = std::min<double>(window(), skeleton.period);
    const network::Network& network = _problem.network;
    for (const auto& parents : skeleton.parents)
      for (Rank rank = 0; rank < ranks(); ++rank) {
        schedule::Step delay = 0;
        if (const Rank parent = parents[index(rank)]; parent != no_rank) {
          const HostId a = _problem.placement[index(rank)], b = _problem.placement[index(parent)];
          const double latency = std::max(network.latency(a, b), network.latency(b, a)).value();
          delay = static_cast<schedule::Step>(std::min(most, latency / step_time + hop + 0.5));
        }
        skeleton.delays.push_back(delay);
      }
    if (!collective::is_rooted(_problem.collective.kind)) add_gaps(pipeline, skeleton);
  }

  /// Adds gaps between the upward and the downward path. Where data goes up and down again, a rank
  /// gets a segment's result later than its window lasts, and can only send a window of further
  /// segments up while it waits. A gap costs its own length once and lets more segments go up. For
  /// S segments, a path of L segments, a window of w and a gap of g the time is about S (L + g + L
  /// - w) / (L + g + w) + g.
  void add_gaps(const schedule::Pipeline& pipeline, Skeleton& skeleton) const {
    const double period = skeleton.period, window = this->window() / period;
    for (std::size_t tree = 0; tree < skeleton.parents.size(); ++tree) {
      const auto [root, depth] = root_and_depth(skeleton, tree);
      const double path = depth / period;
      const double best =
          std::sqrt(pipeline.segments * std::max(0.0, 2 * (path - window))) - window - path;
      const double gap = std::clamp(best, 0.0, static_cast<double>(longest_gap));
      skeleton.delays[tree * index(ranks()) + index(root)] =
          static_cast<schedule::Step>(gap * period);
    }
  }

  /// Returns the root and the steps along the slowest path down, without those of the messages
  /// themselves.
  [[nodiscard]] std::pair<Rank, double> root_and_depth(const Skeleton& skeleton,
                                                       std::size_t tree) const {
    const auto& parents = skeleton.parents[tree];
    Rank root = 0;
    double depth = 0;
    for (Rank rank = 0; rank < ranks(); ++rank) {
      double steps = 0;
      Rank at = rank;
      for (; parents[index(at)] != no_rank; at = parents[index(at)])
        steps += skeleton.delays[tree * index(ranks()) + index(at)];
      if (steps >= depth) {
        depth = steps;
        root = at;
      }
    }
    return {root, depth};
  }

  const Problem& _problem;
  const Parameters& _parameters;
  SiteGraph _graph;
};

/// Estimates the time of trees, to choose what is worth trying.
class Estimate {
public:
  explicit Estimate(const Problem& problem) : _problem(problem) {
    const Network& network = problem.network;
    _rate = std::numeric_limits<double>::infinity();
    for (const HostId host : problem.placement) {
      const network::Host& port = network.hosts[index(host)];
      _rate = std::min({_rate, port.egress.value(), port.ingress.value()});
      const HostId first = problem.placement.front();
      if (host == first) continue;
      _latency = std::max(_latency, network.latency(first, host).value());
      if (!std::isfinite(_rate)) _rate = network.bandwidth(first, host).value();
    }
    _overhead = std::max({_overhead, problem.cost.send.value(), problem.cost.receive.value()});
    if (!std::isfinite(_rate)) _rate = 1e9;
  }
  [[nodiscard]] double time(std::int32_t trees, double message, double segments) const {
    const double passes = collective::is_rooted(_problem.collective.kind) ? 1 : 2;
    const double hop = trees * std::max(message / _rate, 2 * _overhead);
    const double depth = trees == 1 ? _problem.collective.ranks
                                    : std::log2(_problem.collective.ranks) / std::log2(trees) + 1;
    return passes * (segments * hop + depth * (hop + _latency / passes + 2 * _overhead));
  }

private:
  const Problem& _problem;
  double _rate, _latency = 0, _overhead = 1e-6;
};

class PackedTrees final : public Algorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "packed-trees"; }
  [[nodiscard]] std::string_view source() const override {
    return "Edmonds: Edge-Disjoint Branchings; Sanders, Speck, Träff: Two-tree Algorithms for Full "
           "Bandwidth Broadcast, Reduction and Scan";
  }
  [[nodiscard]] bool builds_quickly(Rank ranks) const override { return ranks <= 512; }
  [[nodiscard]] bool builds_for_window() const override { return true; }
  [[nodiscard]] bool takes_any_tree() const override { return true; }
  [[nodiscard]] bool supports(Kind kind) const override {
    using enum Kind;
    return kind == bcast || kind == reduce || kind == allreduce || kind == allgather ||
           kind == reduce_scatter;
  }

  /// `degree` is the number of trees.
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override {
    std::vector<Parameters> candidates;
    for (const std::int32_t trees : tree_counts)
      if (candidates.size() < most_candidates && (trees == 1 || trees < problem.collective.ranks))
        add_best(problem, trees, candidates);
    candidates.resize(std::min(candidates.size(), most_candidates));
    return candidates;
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    Skeleton skeleton = begin(problem, parameters);
    Builder(problem, parameters).fill(skeleton);
    return skeleton;
  }

  void check(const Skeleton& skeleton) const override {
    check_lists(skeleton, {"order", "parents", "delays"});
    check_order(skeleton);
    check_trees(skeleton);
  }

  void emit(Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const override {
    schedule::Step begin = 0;
    for (std::size_t tree = 0; tree < skeleton.parents.size(); ++tree) {
      TreeFlow flow(kind, skeleton, tree, begin, rank, sink);
      flow.emit();
      begin += flow.root_children();
    }
    sink.sort();
  }

private:
  /// Returns message_size() and the powers of two below it, largest first.
  static std::vector<Size> message_sizes(const Problem& problem) {
    std::vector<Size> sizes = {message_size(problem)};
    const auto below = static_cast<std::uint64_t>(sizes.front() - 1);
    for (auto size = static_cast<Size>(std::bit_floor(below)); size >= smallest_message; size /= 2)
      sizes.push_back(size);
    return sizes;
  }

  /// Adds the largest segments for a number of trees, and the best ones besides.
  static void add_best(const Problem& problem, std::int32_t trees,
                       std::vector<Parameters>& candidates) {
    struct Guess {
      double time;
      Size segments;
    };
    const Estimate estimate(problem);
    const Size total = std::max<Size>(1, problem.collective.total());
    const bool both_directions = !collective::is_rooted(problem.collective.kind);
    const Size moved = trees * Size{problem.collective.ranks} * problem.collective.blocks();
    const Size most = std::min(most_two_directional, most_moved / moved);
    std::vector<Guess> guesses;
    for (const Size message : message_sizes(problem)) {
      Size segments = std::max<Size>(1, total / (trees * message));
      if (both_directions && guesses.empty()) segments = std::clamp<Size>(most, 1, segments);
      if (!guesses.empty() &&
          (segments == guesses.back().segments || (both_directions && segments > most)))
        break;
      const auto count = static_cast<double>(segments);
      guesses.push_back(
          {estimate.time(trees, static_cast<double>(total) / trees / count, count), segments});
    }
    const auto add = [&](const Guess& guess) {
      const Size size = problem.collective.size;
      candidates.push_back(
          {.segment_size = guess.segments > 1 ? (size + guess.segments - 1) / guess.segments : 0,
           .degree = trees});
    };
    // The largest messages suit long latencies, which the estimate doesn't contain.
    add(guesses.front());
    const std::span<const Guess> others = std::span(guesses).subspan(1);
    if (others.empty()) return;
    const double best = std::ranges::min(others, {}, &Guess::time).time;
    add(*std::ranges::find_if(others,
                              [&](const Guess& guess) { return guess.time <= best * as_good; }));
  }
};

} // namespace

const Algorithm& packed_trees() {
  static const PackedTrees algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
