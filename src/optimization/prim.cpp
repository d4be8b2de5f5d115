#include "optimization/prim.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace thalweg::optimization {
namespace {

/// A rank outside the tree, and the lightest link over which it may join.
struct Outside {
  Node rank = 0, upper = 0;
  double weight = 0;
  double direct = 0; ///< weight of the root's link
};

} // namespace

void join_by_lightest_link(std::span<const Node> group, const LinkWeight& weight, LinkTest test,
                           std::vector<Node>& order, std::vector<Node>& parents) {
  const Node root = group.front();
  std::vector<Outside> outside;
  for (const Node rank : group.subspan(1)) {
    const double direct = weight(root, rank);
    outside.push_back({rank, root, direct, direct});
  }
  std::vector<double> distance(parents.size()); // D: from the root, for members of the tree
  while (!outside.empty()) {
    const auto lightest = std::ranges::min_element(outside, {}, [&](const Outside& each) {
      return std::tuple(each.weight, each.upper != root, each.upper, each.rank);
    });
    const Outside joined = *lightest;
    outside.erase(lightest);
    order.push_back(joined.rank);
    parents[index(joined.rank)] = joined.upper;
    distance[index(joined.rank)] = distance[index(joined.upper)] + joined.weight;
    for (Outside& each : outside) {
      const double link = weight(joined.rank, each.rank);
      const bool allowed =
          test == LinkTest::none || distance[index(joined.rank)] + link <= each.direct;
      if (allowed && std::tuple(link, each.upper == root ? -1 : each.upper) <
                         std::tuple(each.weight, each.upper == root ? -1 : each.upper))
        each = {each.rank, joined.rank, link, each.direct};
    }
  }
}

} // namespace thalweg::optimization
