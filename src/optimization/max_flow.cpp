#include "optimization/max_flow.hpp"

#include "units/index.hpp"

#include <algorithm>

namespace thalweg::optimization {

MaxFlow::Arc MaxFlow::add_arc(Node from, Node to) {
  _out[index(from)].push_back(_edges.size());
  _edges.push_back({to, 0});
  _out[index(to)].push_back(_edges.size());
  _edges.push_back({from, 0});
  return _edges.size() / 2 - 1;
}

double MaxFlow::solve(Node source, Node sink, const std::vector<double>& capacities,
                      double enough) {
  _nothing = enough * 1e-12;
  for (Arc arc = 0; arc < capacities.size(); ++arc) {
    // More than enough is as good as infinite, and stays finite for sums and differences.
    _edges[2 * arc].left = std::clamp(capacities[arc], 0.0, 2 * enough);
    _edges[2 * arc + 1].left = 0;
  }
  double flow = 0;
  while (enough - flow > _nothing && find_levels(source, sink)) {
    _next.assign(_out.size(), 0);
    flow += augment(source, sink, enough - flow);
  }
  return flow;
}

/// Searches breadth first along edges with capacity left.
bool MaxFlow::find_levels(Node source, Node sink) {
  _level.assign(_out.size(), -1);
  _level[index(source)] = 0;
  std::vector<Node> queue = {source};
  for (std::size_t at = 0; at < queue.size(); ++at)
    for (const std::size_t e : _out[index(queue[at])]) {
      const Edge& edge = _edges[e];
      if (edge.left <= _nothing || _level[index(edge.to)] >= 0) continue;
      _level[index(edge.to)] = _level[index(queue[at])] + 1;
      queue.push_back(edge.to);
    }
  return _level[index(sink)] >= 0;
}

/// Sends up to `limit` on from a node along rising levels; returns the amount that arrived.
double MaxFlow::augment(Node node, Node sink, double limit) {
  if (node == sink) return limit;
  double sent = 0;
  for (std::size_t& next = _next[index(node)]; next < _out[index(node)].size(); ++next) {
    const std::size_t e = _out[index(node)][next];
    Edge& edge = _edges[e];
    if (edge.left <= _nothing || _level[index(edge.to)] != _level[index(node)] + 1) continue;
    const double part = augment(edge.to, sink, std::min(limit - sent, edge.left));
    edge.left -= part;
    _edges[e ^ 1].left += part;
    sent += part;
    if (limit - sent <= _nothing) return sent;
  }
  return sent;
}

std::vector<MaxFlow::Arc> MaxFlow::min_cut() const {
  std::vector<Arc> cut;
  for (Arc arc = 0; arc < _edges.size() / 2; ++arc) {
    const Node from = _edges[2 * arc + 1].to, to = _edges[2 * arc].to;
    if (_level[index(from)] >= 0 && _level[index(to)] < 0) cut.push_back(arc);
  }
  return cut;
}

} // namespace thalweg::optimization
