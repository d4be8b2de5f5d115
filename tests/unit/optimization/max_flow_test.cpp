#include "optimization/max_flow.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <limits>
#include <random>
#include <utility>

namespace thalweg::optimization {
namespace {

using Node = MaxFlow::Node;
using Arc = MaxFlow::Arc;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Some nodes, with up to three times as many arcs, several between the same ones or none.
struct Graph {
  struct Ends {
    Node from, to;
  };

  explicit Graph(std::mt19937& random) : nodes(2 + static_cast<Node>(random() % 5)), flow(nodes) {
    const auto count = static_cast<std::uint32_t>(nodes);
    for (auto left = random() % (3 * count + 1); left > 0; --left) {
      arcs.push_back({static_cast<Node>(random() % count), static_cast<Node>(random() % count)});
      CHECK(flow.add_arc(arcs.back().from, arcs.back().to) == arcs.size() - 1);
    }
  }

  /// Returns the least capacity of all arcs out of a set of nodes with node 0 and without node 1,
  /// by trying all sets.
  [[nodiscard]] double narrowest(const std::vector<double>& capacities) const {
    double least = infinity;
    for (std::uint32_t set = 1; set < 1U << nodes; set += 4) {
      double sum = 0;
      for (Arc arc = 0; arc < arcs.size(); ++arc)
        if ((set >> arcs[arc].from & 1U) != 0 && (set >> arcs[arc].to & 1U) == 0)
          sum += std::max(0.0, capacities[arc]);
      least = std::min(least, sum);
    }
    return least;
  }

  Node nodes;
  MaxFlow flow;
  std::vector<Ends> arcs;
};

/// Draws whole numbers, none and an unlimited one among them.
std::vector<double> random_capacities(std::size_t count, std::mt19937& random) {
  std::vector<double> capacities;
  for (std::size_t arc = 0; arc < count; ++arc)
    capacities.push_back(random() % 8 == 0 ? infinity : static_cast<double>(random() % 10) - 1);
  return capacities;
}

TEST_CASE("the flow is what the narrowest cut lets through, which min_cut() names") {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    Graph graph(random);
    for (int again = 0; again < 3; ++again) {
      std::vector<double> capacities = random_capacities(graph.arcs.size(), random);
      const double narrowest = graph.narrowest(capacities);
      for (const double enough : {1.0, 5.0, 1000.0})
        CHECK(graph.flow.solve(0, 1, capacities, enough) == std::min(narrowest, enough));
      if (narrowest == infinity) continue;
      double cut = 0;
      for (const Arc arc : graph.flow.min_cut()) {
        cut += std::max(0.0, capacities[arc]);
        capacities[arc] = 0;
      }
      CHECK(cut == narrowest);
      CHECK(graph.narrowest(capacities) == 0);
    }
  }
}

TEST_CASE("flow takes back what it sent where that lets more through") {
  // The first path goes 0 -> 2 -> 3 -> 1, and blocks both others.
  MaxFlow flow(6);
  for (const auto& [from, to] : {std::pair(0, 2), {2, 3}, {3, 1}, {2, 4}, {4, 1}, {0, 5}, {5, 3}})
    flow.add_arc(from, to);
  const std::vector<double> ones(7, 1);
  CHECK(flow.solve(0, 1, ones, 10) == 2);
  CHECK(flow.min_cut() == std::vector<Arc>{0, 5});
}

} // namespace
} // namespace thalweg::optimization
