#include "optimization/arborescence.hpp"

#include "optimization/prim.hpp"
#include "units/index.hpp"

#include <limits>
#include <utility>

namespace thalweg::optimization {
namespace {

using Costs = network::Matrix<double>;
constexpr Node none = -1;

/// Returns for each node but the root the origin of its cheapest link.
std::vector<Node> cheapest(const Costs& costs, Node root) {
  std::vector<Node> parents(costs.size(), none);
  std::vector<double> least(costs.size());
  const auto count = static_cast<Node>(costs.size());
  for (Node from = 0; from < count; ++from)
    for (Node to = 0; to < count; ++to)
      if (from != to && to != root &&
          (parents[index(to)] == none || costs(from, to) < least[index(to)])) {
        parents[index(to)] = from;
        least[index(to)] = costs(from, to);
      }
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

/// A graph in which a cycle is contracted to one node, the last. It keeps no costs, which would
/// take nodes² for each of up to as many cycles as nodes.
class Contracted {
public:
  /// @param costs by the links of the graph before; after that, of the contracted one
  /// @param parents in the graph before
  Contracted(Costs& costs, std::vector<Node> parents, const std::vector<Node>& cycle);
  /// Returns a node's place in the contracted graph.
  [[nodiscard]] Node place(Node node) const { return _place[index(node)]; }
  /// Returns the parents in the graph before for those in the contracted one.
  [[nodiscard]] std::vector<Node> expanded(const std::vector<Node>& above) const;

private:
  std::vector<Node> _parents;
  std::vector<Node> _original, _place; ///< new -> old except for the cycle; old -> new
  std::vector<Node> _enters, _leaves;  ///< by new node: where in the cycle its links end, or begin
};

Contracted::Contracted(Costs& costs, std::vector<Node> parents, const std::vector<Node>& cycle)
    : _parents(std::move(parents)), _place(costs.size(), 0) {
  const Costs old = std::move(costs);
  const auto circle = static_cast<Node>(old.size() - cycle.size());
  for (const Node node : cycle)
    _place[index(node)] = circle;
  for (Node node = 0; std::cmp_less(node, old.size()); ++node)
    if (_place[index(node)] != circle) {
      _place[index(node)] = static_cast<Node>(_original.size());
      _original.push_back(node);
    }
  _enters.assign(_original.size(), none);
  _leaves = _enters;
  costs = Costs(_original.size() + 1, std::numeric_limits<double>::infinity());
  for (Node a = 0; a < circle; ++a) {
    const Node from = _original[index(a)];
    for (Node b = 0; b < circle; ++b)
      costs(a, b) = old(from, _original[index(b)]);
    for (const Node node : cycle) {
      const double extra = old(from, node) - old(_parents[index(node)], node);
      if (_enters[index(a)] == none || extra < costs(a, circle)) {
        costs(a, circle) = extra;
        _enters[index(a)] = node;
      }
      if (_leaves[index(a)] == none || old(node, from) < costs(circle, a)) {
        costs(circle, a) = old(node, from);
        _leaves[index(a)] = node;
      }
    }
  }
}

std::vector<Node> Contracted::expanded(const std::vector<Node>& above) const {
  std::vector<Node> parents = _parents;
  const auto circle = static_cast<Node>(_original.size());
  for (Node node = 0; node < circle; ++node) {
    const Node parent = above[index(node)];
    parents[index(_original[index(node)])] = parent == none     ? none
                                             : parent == circle ? _leaves[index(node)]
                                                                : _original[index(parent)];
  }
  const Node from = above[index(circle)];
  parents[index(_enters[index(from)])] = _original[index(from)];
  return parents;
}

} // namespace

std::vector<Node> minimum_arborescence(const Costs& costs, Node root) {
  Costs left = costs;
  std::vector<Contracted> graphs; // each made from the one before
  std::vector<Node> parents = cheapest(left, root);
  for (auto cycle = find_cycle(parents); !cycle.empty(); cycle = find_cycle(parents)) {
    graphs.emplace_back(left, std::move(parents), cycle);
    root = graphs.back().place(root);
    parents = cheapest(left, root);
  }
  for (; !graphs.empty(); graphs.pop_back())
    parents = graphs.back().expanded(parents);
  return parents;
}

std::vector<Node> minimum_spanning_tree(const Costs& costs, Node root) {
  const auto cost = [&](Node upper, Node lower) { return costs(upper, lower); };
  std::vector<Node> parents(costs.size(), none);
  for (const Link& link : spanning_tree(static_cast<Node>(costs.size()), root, cost, Tie::lower))
    parents[index(link.lower)] = link.upper;
  return parents;
}

} // namespace thalweg::optimization
