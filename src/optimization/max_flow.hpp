#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thalweg::optimization {

/// Maximum flow by Dinic's algorithm (Dinitz: Algorithm for Solution of a Problem of Maximum Flow
/// in Networks with Power Estimation), O(nodes² × arcs). The same arcs can be solved for many
/// capacities.
class MaxFlow {
public:
  using Node = std::int32_t;
  using Arc = std::size_t;

  explicit MaxFlow(Node nodes) : _out(static_cast<std::size_t>(nodes)) {}
  /// Arcs are numbered from 0 in the order of their addition.
  Arc add_arc(Node from, Node to);

  /// Returns the flow from source to sink, or `enough` once that is reached. Flow below 1e-12 of
  /// `enough` counts as none.
  /// @param capacities by arc, finite or not; negative means none
  double solve(Node source, Node sink, const std::vector<double>& capacities, double enough);
  /// Returns the full arcs that separate the source from the sink, after a solve() that found less
  /// than enough.
  [[nodiscard]] std::vector<Arc> min_cut() const;

private:
  struct Edge {
    Node to;
    double left; ///< residual capacity; edge 2a is arc a, edge 2a + 1 its reverse
  };
  bool find_levels(Node source, Node sink);
  double augment(Node node, Node sink, double limit);

  std::vector<Edge> _edges;
  std::vector<std::vector<std::size_t>> _out; ///< node -> edges
  std::vector<std::int32_t> _level;           ///< -1: not reached from the source
  std::vector<std::size_t> _next;
  double _nothing = 0;
};

} // namespace thalweg::optimization
