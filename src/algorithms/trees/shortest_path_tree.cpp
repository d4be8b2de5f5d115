/// The tree in which each rank is reached along the path of least latency: if messages cost nothing
/// besides latency, no tree is faster. Among equal paths a rank takes the one with the fewest
/// links. A node first serves the children with the longest path below them.
/// Source: Dijkstra: A Note on Two Problems in Connexion with Graphs.
#include "algorithms/quick.hpp"
#include "algorithms/trees/latency_weight.hpp"
#include "algorithms/trees/tree.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace thalweg::algorithms {
namespace {

using collective::no_rank;

/// Dijkstra's algorithm over ranks: O(ranks²).
class Paths {
public:
  Paths(const Problem& problem, Rank root)
      : parents(problem.placement.size(), no_rank), _latency(latency_weight(problem)),
        _distance(parents.size(), std::numeric_limits<double>::infinity()),
        _links(parents.size(), 0) {
    std::vector<char> joined(parents.size(), 0);
    _distance[index(root)] = 0;
    for (std::size_t step = 0; step < parents.size(); ++step) {
      Rank next = no_rank;
      for (Rank rank = 0; std::cmp_less(rank, parents.size()); ++rank)
        if (!joined[index(rank)] && (next == no_rank || is_nearer(rank, next))) next = rank;
      joined[index(next)] = 1;
      _reached.push_back(next);
      for (Rank rank = 0; std::cmp_less(rank, parents.size()); ++rank)
        if (!joined[index(rank)]) offer(next, rank);
    }
  }

  /// Returns the ranks; of a node's children, the ones with the longest path below them come first.
  [[nodiscard]] std::vector<Rank> order() const {
    std::vector<double> longest = _distance; // to any rank below
    for (std::size_t at = _reached.size(); at-- > 1;) {
      const Rank rank = _reached[at];
      double& above = longest[index(parents[index(rank)])];
      above = std::max(above, longest[index(rank)]);
    }
    std::vector<std::vector<Rank>> children(parents.size());
    for (const Rank rank : _reached)
      if (parents[index(rank)] != no_rank) children[index(parents[index(rank)])].push_back(rank);
    std::vector<Rank> order = {_reached.front()};
    for (std::size_t at = 0; at < order.size(); ++at) {
      auto& next = children[index(order[at])];
      std::ranges::stable_sort(next, std::greater<>(),
                               [&](Rank rank) { return longest[index(rank)]; });
      order.insert(order.end(), next.begin(), next.end());
    }
    return order;
  }

  std::vector<Rank> parents;

private:
  [[nodiscard]] bool is_nearer(Rank a, Rank b) const {
    return _distance[index(a)] != _distance[index(b)] ? _distance[index(a)] < _distance[index(b)]
                                                      : _links[index(a)] < _links[index(b)];
  }
  void offer(Rank via, Rank rank) {
    const double distance = _distance[index(via)] + _latency(via, rank);
    const std::int32_t links = _links[index(via)] + 1;
    if (distance > _distance[index(rank)] ||
        (distance == _distance[index(rank)] && links >= _links[index(rank)]))
      return;
    _distance[index(rank)] = distance;
    _links[index(rank)] = links;
    parents[index(rank)] = via;
  }

  optimization::LinkWeight _latency;
  std::vector<double> _distance;
  std::vector<std::int32_t> _links;
  std::vector<Rank> _reached; ///< nearest first
};

class ShortestPathTree final : public TreeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "shortest-path-tree"; }
  [[nodiscard]] std::string_view source() const override {
    return "Dijkstra: A Note on Two Problems in Connexion with Graphs";
  }
  [[nodiscard]] bool builds_quickly(Rank ranks) const override {
    return ranks <= most_squared_ranks;
  }
  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    Paths paths(problem, natural_root(problem));
    std::vector<Rank> order = paths.order();
    return tree(problem, parameters, std::move(order), std::move(paths.parents));
  }
};

} // namespace

const Algorithm& shortest_path_tree() {
  static const ShortestPathTree algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
