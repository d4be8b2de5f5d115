/// An allreduce over a tree of groups of close ranks. In each group the members send contributions
/// to the owners of shares of the data; owners send the sums towards two groups in the middle,
/// which exchange theirs, and the results come back along the same links. Each group's data crosses
/// to another group once, as in a tree with one root, but it goes from any group to any other along
/// the path through the tree, and not to a root and back.
/// Source: Rabenseifner's allreduce within groups, and trees of groups as in Karonis et al.:
/// Exploiting Hierarchy in Parallel Computer Networks to Optimize Collective Operation Performance.
#include "algorithms/quick.hpp"
#include "algorithms/segments.hpp"
#include "algorithms/sites/group_messages.hpp"
#include "algorithms/sites/groups.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using collective::no_rank;
using schedule::How;
using schedule::Step;

/// The most groups of which a tree is made.
constexpr std::size_t most_groups = 32;
/// How often data crosses between groups, usually: up, between the roots, and down.
constexpr double crossings = 3;
constexpr auto no_group = static_cast<std::size_t>(-1);

/// A tree of groups with two roots that exchange data: its parents by group, none for the roots.
struct GroupTree {
  std::size_t first = 0, second = 0;
  std::vector<std::size_t> parents;
};

/// Finds the tree in which the data of a vector is through first.
class TreeSearch {
public:
  TreeSearch(const Problem& problem, const std::vector<std::vector<Rank>>& groups, double segment)
      : _groups(groups.size()), _bytes(static_cast<double>(problem.collective.size)),
        _across(_groups, std::vector<double>(_groups, 0)) {
    const Network& network = problem.network;
    const auto host = [&](Rank rank) { return problem.placement[index(rank)]; };
    for (const network::Trunk& trunk : network.trunks) {
      Crossed crossed{trunk.capacity.value(), {}, {}};
      for (const std::vector<Rank>& group : groups) {
        const auto has = [&](const std::vector<network::HostId>& hosts) {
          return std::ranges::find(hosts, host(group.front())) != hosts.end();
        };
        crossed.from.push_back(has(trunk.from));
        crossed.to.push_back(has(trunk.to));
      }
      _trunks.push_back(std::move(crossed));
    }
    std::vector<std::map<network::HostId, double>> ranks_on(_groups); // The ranks of a host share
    for (std::size_t group = 0; group < _groups; ++group) {           // its port and connections.
      for (const Rank rank : groups[group])
        ++ranks_on[group][host(rank)];
      double out = 0, in = 0;
      for (const auto& [id, count] : ranks_on[group]) {
        out += network.hosts[index(id)].egress.value();
        in += network.hosts[index(id)].ingress.value();
      }
      _port.push_back(std::min(out, in));
    }
    for (std::size_t a = 0; a < _groups; ++a)
      for (std::size_t b = 0; b < _groups; ++b) {
        if (a == b) continue;
        double latency = 0, flow = 0;
        for (const auto& [from, senders] : ranks_on[a])
          for (const auto& [to, receivers] : ranks_on[b]) {
            latency += senders * receivers * network.latency(from, to).value();
            flow += network.bandwidth(from, to).value();
          }
        const auto pairs = static_cast<double>(groups[a].size() * groups[b].size());
        double rate = std::min({flow, _port[a], _port[b]});
        for (const Crossed& trunk : _trunks)
          if (trunk.from[a] && trunk.to[b]) rate = std::min(rate, trunk.capacity);
        const double time = latency / pairs + segment / rate;
        _across[a][b] = std::max(_across[a][b], time);
        _across[b][a] = std::max(_across[b][a], time);
      }
  }

  GroupTree best() const {
    GroupTree best;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a < _groups; ++a)
      for (std::size_t b = a + 1; b < _groups; ++b) {
        GroupTree tree{a, b, std::vector<std::size_t>(_groups, no_group)};
        const double time = build(tree);
        if (time < least) {
          least = time;
          best = std::move(tree);
        }
      }
    return best;
  }

private:
  struct Crossed {
    double capacity;
    std::vector<char> from, to; ///< by group
  };

  /// Joins each group to the root that it reaches first. Returns about how long data takes.
  double build(GroupTree& tree) const {
    std::vector<double> away(_groups, std::numeric_limits<double>::infinity());
    std::vector<std::size_t> root(_groups), open(_groups);
    std::iota(root.begin(), root.end(), 0);
    std::iota(open.begin(), open.end(), 0);
    away[tree.first] = away[tree.second] = 0;
    double farthest_first = 0, farthest_second = 0;
    while (!open.empty()) {
      const auto next = std::ranges::min_element(open, {}, [&](std::size_t g) { return away[g]; });
      const std::size_t joined = *next;
      open.erase(next);
      double& farthest = root[joined] == tree.first ? farthest_first : farthest_second;
      farthest = std::max(farthest, away[joined]);
      for (const std::size_t group : open)
        if (const double then = away[joined] + _across[joined][group]; then < away[group]) {
          away[group] = then;
          tree.parents[group] = joined;
          root[group] = root[joined];
        }
    }
    const double between = _across[tree.first][tree.second];
    const double longest = std::max(
        {2 * farthest_first, 2 * farthest_second, farthest_first + between + farthest_second});
    return longest + load(tree);
  }

  /// Returns the time in which the busiest port or trunk carries its data.
  [[nodiscard]] double load(const GroupTree& tree) const {
    std::vector<double> ports(_groups, 0), trunks(_trunks.size(), 0);
    const auto send = [&](std::size_t from, std::size_t to) {
      ports[from] += _bytes / _port[from];
      for (std::size_t at = 0; at < _trunks.size(); ++at)
        if (_trunks[at].from[from] && _trunks[at].to[to])
          trunks[at] += _bytes / _trunks[at].capacity;
    };
    for (std::size_t group = 0; group < _groups; ++group) {
      std::size_t other = tree.parents[group];
      if (group == tree.first) other = tree.second;
      if (other == no_group) continue;
      send(group, other);
      send(other, group);
    }
    double most = *std::ranges::max_element(ports);
    for (const double each : trunks)
      most = std::max(most, each);
    return most;
  }

  std::size_t _groups;
  double _bytes;
  std::vector<Crossed> _trunks;
  std::vector<double> _port;                ///< bytes per second, by group
  std::vector<std::vector<double>> _across; ///< seconds of a segment, by groups
};

/// The messages of the allreduce. Groups 0 and 1 are the roots.
class TreeMessages : GroupMessages {
public:
  TreeMessages(const Skeleton& skeleton, Rank only, Sink& sink)
      : GroupMessages(Kind::allreduce, skeleton, only, sink), _parents(groups(), no_group),
        _ready(groups(), 0), _depth(groups(), 0) {
    std::vector<std::size_t> group_of(index(skeleton.ranks));
    for (std::size_t group = 0; group < groups(); ++group)
      for (Rank member = 0; member < members(group); ++member)
        group_of[index(rank(group, member))] = group;
    for (std::size_t group = 2; group < groups(); ++group)
      _parents[group] = group_of[index(skeleton.parents[0][index(rank(group, 0))])];
    for (std::size_t group = 0; group < groups(); ++group) {
      _lowest.push_back(lowest(group));
      for (std::size_t at = group; _parents[at] != no_group; at = _parents[at])
        ++_depth[group];
    }
    plan_sums();
  }

  void emit() {
    collect(0);
    for (const Sum& sum : _sums)
      cross(sum.from, _parents[sum.from], sum.step, sum.how);
    const Step step = 1 + std::max(_ready[0], groups() > 1 ? _ready[1] : 0);
    if (groups() > 1) {
      cross(0, 1, step, combine(_lowest[0], _lowest[1]));
      cross(1, 0, step, combine(_lowest[1], _lowest[0]));
    }
    // A group passes the results on before it spreads them.
    for (std::size_t group = 2; group < groups(); ++group)
      cross(_parents[group], group, step + 2 * _depth[group] - 1, How::copy);
    for (std::size_t group = 0; group < groups(); ++group)
      spread(group, step + 2 * _depth[group] + 2 + gap());
  }

private:
  /// A group's sum on its way to its parent.
  struct Sum {
    std::size_t from;
    Step step;
    How how;
  };

  /// A group gets the sums of its children one after the other.
  void plan_sums() {
    std::vector<std::size_t> deepest_first;
    for (std::size_t group = 2; group < groups(); ++group)
      deepest_first.push_back(group);
    std::ranges::stable_sort(deepest_first, std::greater<>(),
                             [&](std::size_t group) { return _depth[group]; });
    for (const std::size_t group : deepest_first) {
      const std::size_t parent = _parents[group];
      _ready[parent] = std::max(_ready[parent], _ready[group]) + 1;
      _sums.push_back({group, _ready[parent], combine(_lowest[group], _lowest[parent])});
      _lowest[parent] = std::min(_lowest[parent], _lowest[group]);
    }
  }
  static How combine(Rank lowest, Rank other) {
    return lowest < other ? How::combine_left : How::combine_right;
  }

  std::vector<std::size_t> _parents; ///< by group
  std::vector<Step> _ready,
      _depth;                ///< by group: when it has the sum of all below it; links to its root
  std::vector<Rank> _lowest; ///< by group: of all below it
  std::vector<Sum> _sums;
};

class GroupTreeAlgorithm final : public Algorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "group-tree"; }
  [[nodiscard]] std::string_view source() const override {
    return "Karonis et al.: Exploiting Hierarchy in Parallel Computer Networks to Optimize "
           "Collective Operation Performance; Rabenseifner's allreduce within groups";
  }
  [[nodiscard]] bool builds_quickly(Rank ranks) const override {
    return ranks <= most_squared_ranks;
  }
  [[nodiscard]] bool supports(Kind kind) const override { return kind == Kind::allreduce; }

  /// `degree` is the number of groups, `senders` the most owners in one.
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override {
    const Size size = problem.collective.size, eager = message_size(problem);
    const Dendrogram tree = dendrogram(problem);
    std::vector<std::size_t> counts = tree.natural_counts();
    std::erase_if(counts, [](std::size_t count) { return count > most_groups; });
    counts.resize(std::min(counts.size(), most_group_counts));
    if (counts.empty() && tree.hosts() <= most_groups) counts.push_back(tree.hosts());
    std::vector<Parameters> candidates;
    for (const std::size_t count : counts) {
      const auto groups = tree.cut(count);
      const auto least =
          static_cast<Rank>(std::ranges::min_element(groups, {}, &std::vector<Rank>::size)->size());
      for (const Rank owners : {Rank{0}, Rank{1}})
        for (const Size share : {Size{0}, eager, eager / 4}) {
          Size segment = share * (owners == 0 ? least : 1);
          if (segment == 0 && size > longest_whole * eager) continue;
          if (segment >= size) continue;
          candidates.push_back({.segment_size = segment,
                                .degree = static_cast<std::int32_t>(count),
                                .senders = owners});
        }
    }
    return candidates;
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    Skeleton skeleton = begin(problem, parameters);
    const Size size = problem.collective.size;
    auto groups = dendrogram(problem).cut(std::min(index(parameters.degree), most_groups));
    const Size segment = skeleton.segment_size > 0 ? std::min(skeleton.segment_size, size) : size;
    GroupTree tree = TreeSearch(problem, groups, static_cast<double>(segment)).best();
    if (groups.size() > 1) arrange(groups, tree);
    add_groups(problem, parameters.senders, groups, skeleton);
    skeleton.weights = weights_of_shares(skeleton.senders);
    skeleton.chunks = static_cast<ChunkId>(skeleton.weights.size());
    skeleton.parents.emplace_back(index(skeleton.ranks), no_rank);
    std::int64_t members = 1, owners = 0;
    for (std::size_t group = 0; group < groups.size(); ++group) {
      const Rank leader = groups[group].front();
      for (const Rank rank : groups[group])
        skeleton.parents[0][index(rank)] = leader;
      if (group == 0)
        skeleton.parents[0][index(leader)] = no_rank;
      else
        skeleton.parents[0][index(leader)] = groups[group == 1 ? 0 : tree.parents[group]].front();
      members = std::max(members, static_cast<std::int64_t>(groups[group].size()));
      owners += skeleton.senders[group];
    }
    if (const Step gap = gap_of_crossing(problem, groups, skeleton, crossings); gap > 0)
      skeleton.delays.assign(index(skeleton.ranks), gap);
    skeleton.window =
        schedule::window_for((2 * members + owners) * skeleton.pipeline(size).segments);
    return skeleton;
  }

  void check(const Skeleton& skeleton) const override {
    check_lists(skeleton, {"order", "site_begins", "senders", "parents", "delays"});
    check_groups(skeleton);
    check_trees(skeleton);
    std::vector<Rank> leaders;
    for (const Rank begin : skeleton.site_begins)
      leaders.push_back(skeleton.order[index(begin)]);
    for (std::size_t group = 2; group < leaders.size(); ++group)
      if (std::ranges::count(leaders, skeleton.parents[0][index(leaders[group])]) == 0)
        throw std::invalid_argument("a skeleton is damaged: its groups are no tree");
  }

  void emit(Kind /*kind*/, const Skeleton& skeleton, Rank rank, Sink& sink) const override {
    TreeMessages(skeleton, rank, sink).emit();
    sink.sort();
  }

private:
  /// Puts the roots first.
  static void arrange(std::vector<std::vector<Rank>>& groups, GroupTree& tree) {
    std::vector<std::size_t> order = {tree.first, tree.second}, place(groups.size(), 0);
    for (std::size_t group = 0; group < groups.size(); ++group)
      if (group != tree.first && group != tree.second) order.push_back(group);
    for (std::size_t at = 0; at < order.size(); ++at)
      place[order[at]] = at;
    std::vector<std::vector<Rank>> arranged;
    std::vector<std::size_t> parents;
    for (const std::size_t group : order) {
      arranged.push_back(std::move(groups[group]));
      parents.push_back(tree.parents[group] == no_group ? no_group : place[tree.parents[group]]);
    }
    groups = std::move(arranged);
    tree.parents = std::move(parents);
  }
};

} // namespace

const Algorithm& group_tree() {
  static const GroupTreeAlgorithm algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
