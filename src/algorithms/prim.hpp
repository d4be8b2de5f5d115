#pragma once

#include "algorithms/tree.hpp"

#include <functional>

namespace thalweg::algorithms {

/// What a link costs, from a rank to one below it.
using LinkWeight = std::function<double(Rank upper, Rank lower)>;

/// The latency in the direction in which the collective's data flows; of both the longer one. The
/// problem must outlive it.
LinkWeight latency_weight(const Problem& problem);

/// Which links may join a tree.
enum class LinkTest : std::uint8_t {
  none,   ///< any: a minimum spanning tree
  direct, ///< those over which a rank is no farther from the root than by its direct link: HLOT
};

/// Joins all of `group` to a tree of which its first rank is part already, as its root: one after
/// the other over the lightest link between those that are in and those that aren't. Of equal ones
/// the root's own is taken, then the lower rank's, then that to the lower rank. O(group²).
/// Source: Park et al.: HLOT, section 3.2, figure 3; docs/decisions/0019-trees-of-the-papers.md
/// says how it is read.
void join_by_lightest_link(std::span<const Rank> group, const LinkWeight& weight, LinkTest test,
                           std::vector<Rank>& order, std::vector<Rank>& parents);

} // namespace thalweg::algorithms
