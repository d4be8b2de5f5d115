#include "network/matrix.hpp"
#include "optimization/prim.hpp"
#include "units/index.hpp"

#include <doctest/doctest.h>
#include <random>

namespace thalweg::optimization {
namespace {

std::vector<Node> order(const std::vector<Link>& tree) {
  std::vector<Node> nodes;
  for (const Link& link : tree)
    nodes.push_back(link.lower);
  return nodes;
}

TEST_CASE("of nodes with equal links the rule for ties says which joins") {
  const auto is_light = [](Node a, Node b) {
    return (a == 2 && b == 3) || (a == 2 && b == 4) || (a == 3 && b == 0) || (a == 0 && b == 1);
  };
  const LinkWeight weight = [&](Node a, Node b) {
    return is_light(a, b) || is_light(b, a) ? 1 : 5;
  };
  CHECK(order(spanning_tree(5, 2, weight, Tie::lower)) == std::vector<Node>{3, 0, 1, 4});
  CHECK(order(spanning_tree(5, 2, weight, Tie::upper)) == std::vector<Node>{3, 4, 0, 1});
}

TEST_CASE("whatever the rule for ties, each node joins a member, and the sum is the same") {
  std::mt19937 random(6);
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    const auto nodes = static_cast<Node>(1 + random() % 12);
    const auto root = static_cast<Node>(random() % index(nodes));
    network::Matrix<double> weights(index(nodes));
    for (Node a = 0; a < nodes; ++a)
      for (Node b = 0; b < a; ++b)
        weights(a, b) = weights(b, a) = static_cast<double>(random() % 5);
    const auto weight = [&](Node upper, Node lower) { return weights(upper, lower); };
    std::vector<double> sums;
    for (const Tie tie : {Tie::any, Tie::lower, Tie::upper}) {
      std::vector<char> is_member(index(nodes), 0);
      is_member[index(root)] = 1;
      sums.push_back(0);
      for (const Link& link : spanning_tree(nodes, root, weight, tie)) {
        CHECK(is_member[index(link.upper)] == 1);
        CHECK(is_member[index(link.lower)]++ == 0);
        CHECK(link.weight == weight(link.upper, link.lower));
        sums.back() += link.weight;
      }
      CHECK(is_member == std::vector<char>(index(nodes), 1));
    }
    CHECK(sums == std::vector<double>(3, sums.front()));
  }
}

} // namespace
} // namespace thalweg::optimization
