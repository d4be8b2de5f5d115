#pragma once

#include "algorithms/algorithm.hpp"
#include "network/hierarchy.hpp"

#include <utility>

namespace thalweg::algorithms {

/// More ranks than this, and a hierarchy takes too long to build inside a running program.
inline constexpr Rank most_quick_hierarchy = 128;

/// A group of a hierarchy as its ranks see it: those of one host are a group of their own, below
/// the hosts' ones.
struct RankGroup {
  std::vector<Rank> ranks;      ///< ascending
  std::vector<RankGroup> parts; ///< two or more, by their hosts, then by rank; none: a single rank
  network::NetworkClass network_class = network::NetworkClass::host; ///< of links between parts
};

/// A problem's network performance hierarchy. Hosts without ranks don't count.
/// Source: Gong, He, Zhong: Network Performance Aware MPI Collective Communication Operations in
/// the Cloud, sections 4.1 and 4.2.
class RankHierarchy {
public:
  /// O(hosts² levels + ranks levels).
  /// @throws std::invalid_argument as network::Hierarchy
  RankHierarchy(const Problem& problem, const network::HierarchyOptions& options);

  [[nodiscard]] const RankGroup& top() const { return _top; }
  /// How bad a link is: its level in the discretised matrix M, then its transfer time in seconds.
  using Cost = std::pair<std::int64_t, double>;
  [[nodiscard]] Cost cost(Rank from, Rank to) const;
  /// The same in the direction, or both, in which the collective's data flows between a rank and
  /// one that is nearer to the root.
  [[nodiscard]] Cost cost_below(Rank upper, Rank lower) const;

private:
  collective::Kind _kind;
  Size _size;
  Network _network;     ///< between the hosts that have ranks
  Placement _placement; ///< on it
  network::Levels _levels;
  RankGroup _top;
};

/// The options of the hierarchy that the parameters ask for, for the messages of a problem.
network::HierarchyOptions hierarchy_options(const Problem& problem, const Parameters& parameters);

} // namespace thalweg::algorithms
