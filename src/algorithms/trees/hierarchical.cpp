/// The tree of a network performance hierarchy: within each group, from the top level down to the
/// ranks of a host, the leaders of the groups below form a binomial tree under the group's leader.
/// A group's leader is the rank that reaches the others best in the direction of the data; the root
/// leads all its groups.
/// After: Gong, He, Zhong: Network Performance Aware MPI Collective Communication Operations in
/// the Cloud, section 4.3, algorithm 3, which calls MPICH2's own collective in each group, one
/// group after the other; these are joined binomial trees. What is as printed is in
/// bench/cmpi_collectives.py. Its `iter < l` would leave out the top level and is read as
/// `iter <= l`.
#include "algorithms/segments.hpp"
#include "algorithms/trees/rank_hierarchy.hpp"
#include "algorithms/trees/tree.hpp"

#include <algorithm>
#include <tuple>

namespace thalweg::algorithms {
namespace {

/// The participants of each group of all levels, from the top down, each with its leader first.
class LedGroups {
public:
  LedGroups(const RankHierarchy& hierarchy, Rank root) : _hierarchy(hierarchy), _root(root) {
    lead(hierarchy.top());
    std::ranges::reverse(_groups);
  }
  [[nodiscard]] const std::vector<std::vector<Rank>>& groups() const { return _groups; }

private:
  /// Chooses the leader among a group's participants, which are the leaders of its parts.
  Rank lead(const RankGroup& group) {
    if (group.parts.empty()) return group.ranks.front();
    std::vector<Rank> participants;
    for (const RankGroup& part : group.parts)
      participants.push_back(lead(part));
    std::ranges::sort(participants);
    const auto found = std::ranges::find(participants, _root);
    const auto leader = found != participants.end() ? found : best(participants);
    std::rotate(participants.begin(), leader, leader + 1);
    return _groups.emplace_back(std::move(participants)).front();
  }
  /// Compares by the discretised matrix, then by transfer times, then by rank.
  [[nodiscard]] std::vector<Rank>::iterator best(std::vector<Rank>& group) const {
    return std::ranges::min_element(group, {}, [&](Rank leader) {
      std::int64_t levels = 0;
      double times = 0;
      for (const Rank other : group) {
        const auto [level, time] = _hierarchy.cost_below(leader, other);
        levels += level;
        times += time;
      }
      return std::tuple(levels, times, leader);
    });
  }

  const RankHierarchy& _hierarchy;
  Rank _root;
  std::vector<std::vector<Rank>> _groups;
};

class Hierarchical final : public TreeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "hierarchical"; }
  [[nodiscard]] std::string_view source() const override {
    return "after Gong, He, Zhong: Network Performance Aware MPI Collective Communication "
           "Operations in the Cloud, section 4.3, algorithm 3, with binomial trees in place of "
           "MPICH2's collectives";
  }

  [[nodiscard]] bool builds_quickly(Rank ranks) const override {
    return ranks <= most_quick_hierarchy;
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    const Rank root = natural_root(problem);
    const RankHierarchy hierarchy(problem, hierarchy_options(problem, parameters));
    std::vector<Rank> order = {root};
    std::vector<Rank> parents(problem.placement.size(), collective::no_rank);
    const LedGroups led(hierarchy, root);
    for (const std::vector<Rank>& group : led.groups())
      join_binomially(group, order, parents);
    Skeleton skeleton = tree(problem, parameters, std::move(order), std::move(parents));
    skeleton.window = one_at_a_time(parameters); // as in MPICH2's binomial trees of short messages
    return skeleton;
  }
};

} // namespace

const Algorithm& hierarchical() {
  static const Hierarchical algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
