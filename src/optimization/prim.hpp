#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace thalweg::optimization {

using Node = std::int32_t;

/// Returns the cost of a link, from a node to one below it in the tree.
using LinkWeight = std::function<double(Node upper, Node lower)>;

/// Which links may join a tree.
enum class LinkTest : std::uint8_t {
  none,   ///< all: a minimum spanning tree
  direct, ///< only links over which a node is no farther from the root than by its direct link:
          ///< HLOT
};

/// Joins all of `group` to a tree that already contains its first node, as the root: one after the
/// other over the lightest link between members and non-members. Of equal links it takes the root's
/// own, then the one from the lower node, then the one to the lower node. O(group²).
/// Source: Park et al.: HLOT, section 3.2, figure 3; docs/decisions/0019-trees-of-the-papers.md
/// says how it is read.
void join_by_lightest_link(std::span<const Node> group, const LinkWeight& weight, LinkTest test,
                           std::vector<Node>& order, std::vector<Node>& parents);

} // namespace thalweg::optimization
