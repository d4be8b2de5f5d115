#include "optimization/arborescence.hpp"

#include "units/index.hpp"

#include <limits>
#include <utility>

namespace thalweg::optimization {
namespace {

using Node = std::int32_t;
using Costs = network::Matrix<double>;
constexpr Node none = -1;

/// Returns for each node but the root the origin of its cheapest link.
std::vector<Node> cheapest(const Costs& costs, Node root) {
  std::vector<Node> parents(costs.size(), none);
  const auto count = static_cast<Node>(costs.size());
  for (Node to = 0; to < count; ++to)
    for (Node from = 0; from < count && to != root; ++from)
      if (from != to &&
          (parents[index(to)] == none || costs(from, to) < costs(parents[index(to)], to)))
        parents[index(to)] = from;
  return parents;
}

/// Returns nodes that are each other's parents in a cycle; empty if there are none.
std::vector<Node> find_cycle(const std::vector<Node>& parents) {
  std::vector<Node> seen_from(parents.size(), none);
  for (Node start = 0; std::cmp_less(start, parents.size()); ++start) {
    Node at = start;
    while (at != none && seen_from[index(at)] == none) {
      seen_from[index(at)] = start;
      at = parents[index(at)];
    }
    if (at == none || seen_from[index(at)] != start) continue;
    std::vector<Node> cycle = {at};
    for (Node next = parents[index(at)]; next != at; next = parents[index(next)])
      cycle.push_back(next);
    return cycle;
  }
  return {};
}

/// A graph in which a cycle is contracted to one node, the last.
struct Contracted {
  Contracted(const Costs& costs, const std::vector<Node>& parents, const std::vector<Node>& cycle);

  std::vector<Node> original, place; ///< new -> old except for the cycle; old -> new
  std::vector<Node> enters, leaves;  ///< by new node: where in the cycle its links end, or begin
  Costs costs;
};

Contracted::Contracted(const Costs& old, const std::vector<Node>& parents,
                       const std::vector<Node>& cycle)
    : place(old.size(), 0) {
  const auto circle = static_cast<Node>(old.size() - cycle.size());
  for (const Node node : cycle)
    place[index(node)] = circle;
  for (Node node = 0; std::cmp_less(node, old.size()); ++node)
    if (place[index(node)] != circle) {
      place[index(node)] = static_cast<Node>(original.size());
      original.push_back(node);
    }
  enters.assign(original.size(), none);
  leaves = enters;
  costs = Costs(original.size() + 1, std::numeric_limits<double>::infinity());
  for (Node a = 0; a < circle; ++a) {
    const Node from = original[index(a)];
    for (Node b = 0; b < circle; ++b)
      costs(a, b) = old(from, original[index(b)]);
    for (const Node node : cycle) {
      const double extra = old(from, node) - old(parents[index(node)], node);
      if (enters[index(a)] == none || extra < costs(a, circle)) {
        costs(a, circle) = extra;
        enters[index(a)] = node;
      }
      if (leaves[index(a)] == none || old(node, from) < costs(circle, a)) {
        costs(circle, a) = old(node, from);
        leaves[index(a)] = node;
      }
    }
  }
}

} // namespace

std::vector<Node> minimum_arborescence(const Costs& costs, Node root) {
  std::vector<Node> parents = cheapest(costs, root);
  const std::vector<Node> cycle = find_cycle(parents);
  if (cycle.empty()) return parents;
  const Contracted graph(costs, parents, cycle);
  const std::vector<Node> above = minimum_arborescence(graph.costs, graph.place[index(root)]);
  const auto circle = static_cast<Node>(graph.original.size());
  for (Node node = 0; node < circle; ++node) {
    const Node parent = above[index(node)];
    parents[index(graph.original[index(node)])] = parent == none ? none
                                                  : parent == circle
                                                      ? graph.leaves[index(node)]
                                                      : graph.original[index(parent)];
  }
  const Node from = above[index(circle)];
  parents[index(graph.enters[index(from)])] = graph.original[index(from)];
  return parents;
}

std::vector<Node> minimum_spanning_tree(const Costs& costs, Node root) {
  std::vector<Node> parents(costs.size(), root);
  std::vector<char> joined(costs.size(), 0);
  parents[index(root)] = none;
  joined[index(root)] = 1;
  const auto count = static_cast<Node>(costs.size());
  for (Node step = 1; step < count; ++step) {
    Node next = none;
    for (Node node = 0; node < count; ++node)
      if (!joined[index(node)] &&
          (next == none || costs(parents[index(node)], node) < costs(parents[index(next)], next)))
        next = node;
    joined[index(next)] = 1;
    for (Node node = 0; node < count; ++node)
      if (!joined[index(node)] && costs(next, node) < costs(parents[index(node)], node))
        parents[index(node)] = next;
  }
  return parents;
}

} // namespace thalweg::optimization
