#include "optimization/prim.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <tuple>

namespace thalweg::optimization {
namespace {

/// Returns what orders links: the one that joins a tree first is the least.
std::tuple<double, Node, Node> order_of(const Link& link, Node root, Tie tie) {
  const Node upper = link.upper == root ? -1 : link.upper;
  return {link.weight, tie == Tie::upper ? upper : 0, tie == Tie::any ? 0 : link.lower};
}

} // namespace

std::vector<Link> spanning_tree(std::span<const Node> group, const LinkWeight& weight, Tie tie,
                                LinkTest test) {
  const Node root = group.front();
  std::vector<Link> tree, outside; // the latter: the lightest link to each node that hasn't joined
  for (const Node node : group.subspan(1))
    outside.push_back({root, node, weight(root, node)});
  std::vector<double> distance(index(std::ranges::max(group)) + 1); // from the root, of members
  while (!outside.empty()) {
    const auto lightest = std::ranges::min_element(
        outside, {}, [&](const Link& link) { return order_of(link, root, tie); });
    const Link joined = *lightest;
    tree.push_back(joined);
    *lightest = outside.back();
    outside.pop_back();
    distance[index(joined.lower)] = distance[index(joined.upper)] + joined.weight;
    for (Link& link : outside) {
      const double own = weight(joined.lower, link.lower);
      const bool allowed =
          test == LinkTest::none || distance[index(joined.lower)] + own <= weight(root, link.lower);
      if (allowed && own < link.weight) link = {joined.lower, link.lower, own};
    }
  }
  return tree;
}

std::vector<Link> spanning_tree(Node nodes, Node root, const LinkWeight& weight, Tie tie) {
  std::vector<Node> group = {root};
  for (Node node = 0; node < nodes; ++node)
    if (node != root) group.push_back(node);
  return spanning_tree(group, weight, tie);
}

} // namespace thalweg::optimization
