#include "optimization/arborescence.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <limits>
#include <random>
#include <utility>

namespace thalweg::optimization {
namespace {

using Node = std::int32_t;
using Costs = network::Matrix<double>;
using Parents = std::vector<Node>;

/// Draws whole numbers, of which few differ if `most` is small.
Costs random_costs(Node nodes, std::uint32_t most, bool symmetric, std::mt19937& random) {
  Costs costs(index(nodes));
  for (Node a = 0; a < nodes; ++a)
    for (Node b = 0; b < nodes; ++b)
      costs(a, b) = symmetric && b < a ? costs(b, a) : static_cast<double>(random() % most);
  return costs;
}

/// Returns the sum over all links; infinite if some don't lead to the root.
double cost(const Costs& costs, Node root, const Parents& parents) {
  double sum = 0;
  for (Node node = 0; std::cmp_less(node, parents.size()); ++node) {
    if (node != root) sum += costs(parents[index(node)], node);
    Node at = node;
    for (std::size_t steps = 0; at != root && steps < parents.size(); ++steps)
      at = parents[index(at)];
    if (at != root) return std::numeric_limits<double>::infinity();
  }
  return sum;
}

/// Returns the least cost of all trees, by trying all parents of all nodes.
double least_cost(const Costs& costs, Node root) {
  Parents parents(costs.size(), 0);
  double least = cost(costs, root, parents);
  for (std::size_t node = 0; node < parents.size();) {
    const bool is_last = std::cmp_equal(++parents[node], parents.size());
    if (is_last) parents[node] = 0;
    node = is_last ? node + 1 : 0;
    least = std::min(least, cost(costs, root, parents));
  }
  return least;
}

TEST_CASE("a minimum arborescence is the cheapest of all trees, and so is a spanning tree") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const auto nodes = static_cast<Node>(1 + round % 5);
    const auto root = static_cast<Node>(random() % index(nodes));
    const std::uint32_t most = round % 2 == 0 ? 1'000'000 : 4;
    const Costs any = random_costs(nodes, most, false, random);
    CHECK(cost(any, root, minimum_arborescence(any, root)) == least_cost(any, root));
    const Costs equal = random_costs(nodes, most, true, random);
    CHECK(cost(equal, root, minimum_spanning_tree(equal, root)) == least_cost(equal, root));
  }
}

TEST_CASE(
    "with equal costs in both directions a minimum arborescence costs what a spanning tree does") {
  // There are hundreds of cycles to contract, and whole numbers that tie.
  std::mt19937 random(9);
  for (const Node nodes : {2, 30, 250}) {
    CAPTURE(nodes);
    const Costs costs = random_costs(nodes, 100, true, random);
    const auto root = static_cast<Node>(random() % index(nodes));
    const double least = cost(costs, root, minimum_spanning_tree(costs, root));
    CHECK(least < std::numeric_limits<double>::infinity());
    CHECK(cost(costs, root, minimum_arborescence(costs, root)) == least);
  }
}

} // namespace
} // namespace thalweg::optimization
