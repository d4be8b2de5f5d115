#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace thalweg::optimization {

using Node = std::int32_t;

/// Returns the cost of a link, from a node to one below it in the tree.
using LinkWeight = std::function<double(Node upper, Node lower)>;

/// A link of a tree.
struct Link {
  Node upper, lower;
  double weight;
};

/// Which node joins a tree first, of those whose links to it are equally light.
enum class Tie : std::uint8_t {
  any,   ///< always the same one
  lower, ///< the lowest one
  upper, ///< one below the root, then one below the lowest node, then the lowest one
};

/// Which links may join a tree.
enum class LinkTest : std::uint8_t {
  none,   ///< all: a minimum spanning tree
  direct, ///< only links over which a node is no farther from the root than by its direct link:
          ///< HLOT
};

/// Joins all of `group` to its first node, the root: one after the other over the lightest link
/// between members and non-members; of a node's equal links over that from the node that joined
/// first. Returns the links in that order. O(group²).
/// Source: Prim: Shortest Connection Networks and Some Generalizations; with LinkTest::direct Park
/// et al.: HLOT, section 3.2, figure 3; docs/decisions/0019-trees-of-the-papers.md says how it is
/// read.
std::vector<Link> spanning_tree(std::span<const Node> group, const LinkWeight& weight, Tie tie,
                                LinkTest test = LinkTest::none);
/// Does so for the nodes from 0 to `nodes` - 1.
std::vector<Link> spanning_tree(Node nodes, Node root, const LinkWeight& weight, Tie tie);

} // namespace thalweg::optimization
