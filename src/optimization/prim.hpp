#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace thalweg::optimization {

using Node = std::int32_t;

/// What a link costs, from a node to one below it in the tree.
using LinkWeight = std::function<double(Node upper, Node lower)>;

/// Which links may join a tree.
enum class LinkTest : std::uint8_t {
  none,   ///< any: a minimum spanning tree
  direct, ///< those over which a node is no farther from the root than by its direct link: HLOT
};

/// Joins all of `group` to a tree of which its first node is part already, as its root: one after
/// the other over the lightest link between those that are in and those that aren't. Of equal ones
/// the root's own is taken, then the lower node's, then that to the lower node. O(group²).
/// Source: Park et al.: HLOT, section 3.2, figure 3; docs/decisions/0019-trees-of-the-papers.md
/// says how it is read.
void join_by_lightest_link(std::span<const Node> group, const LinkWeight& weight, LinkTest test,
                           std::vector<Node>& order, std::vector<Node>& parents);

} // namespace thalweg::optimization
