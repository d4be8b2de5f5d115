#pragma once

#include "algorithms/algorithm.hpp"
#include "network/hierarchy.hpp"

#include <utility>

namespace thalweg::algorithms {

/// With more ranks, a hierarchy takes too long to build inside a running program.
inline constexpr Rank most_quick_hierarchy = 128;

/// A group of ranks in a hierarchy. The ranks of one host form their own group, below the groups of
/// hosts.
struct RankGroup {
  std::vector<Rank> ranks;      ///< ascending
  std::vector<RankGroup> parts; ///< two or more, by host, then by rank; none: a single rank
  network::NetworkClass network_class = network::NetworkClass::host; ///< of links between parts
};

/// A problem's network performance hierarchy, without hosts that have no ranks.
/// Source: Gong, He, Zhong: Network Performance Aware MPI Collective Communication Operations in
/// the Cloud, sections 4.1 and 4.2.
class RankHierarchy {
public:
  /// O(hosts² levels + ranks levels).
  /// @throws std::invalid_argument as network::Hierarchy
  RankHierarchy(const Problem& problem, const network::HierarchyOptions& options);

  [[nodiscard]] const RankGroup& top() const { return _top; }
  /// The cost of a link: its level in the discretised matrix M, then its transfer time in seconds.
  using Cost = std::pair<std::int64_t, double>;
  [[nodiscard]] Cost cost(Rank from, Rank to) const;
  /// Returns the cost in the direction, or the worse of both, in which the collective's data flows
  /// between a rank and one nearer to the root.
  [[nodiscard]] Cost cost_below(Rank upper, Rank lower) const;

private:
  collective::Kind _kind;
  Size _size;
  Network _network;     ///< between the hosts that have ranks
  Placement _placement; ///< in that network
  network::Levels _levels;
  RankGroup _top;
};

/// Returns the hierarchy options that the parameters ask for, for the messages of a problem.
network::HierarchyOptions hierarchy_options(const Problem& problem, const Parameters& parameters);

} // namespace thalweg::algorithms
