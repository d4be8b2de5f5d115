/// The minimum spanning tree of latencies, by Prim's algorithm from the root, from which HLOT
/// starts and with which it is compared. Source: Park et al.: HLOT, section 3.1.
#include "algorithms/quick.hpp"
#include "algorithms/trees/latency_weight.hpp"
#include "algorithms/trees/tree.hpp"
#include "units/index.hpp"

namespace thalweg::algorithms {
namespace {

class MinimumSpanningTree final : public TreeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "minimum-spanning-tree"; }
  [[nodiscard]] std::string_view source() const override {
    return "Park et al.: HLOT, section 3.1";
  }
  [[nodiscard]] bool builds_quickly(Rank ranks) const override {
    return ranks <= most_squared_ranks;
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    const Rank root = natural_root(problem);
    const auto ranks = static_cast<Rank>(problem.placement.size());
    std::vector<Rank> order = {root};
    std::vector<Rank> parents(index(ranks), collective::no_rank);
    for (const optimization::Link& link : optimization::spanning_tree(
             ranks, root, latency_weight(problem), optimization::Tie::upper)) {
      order.push_back(link.lower);
      parents[index(link.lower)] = link.upper;
    }
    return tree(problem, parameters, std::move(order), std::move(parents));
  }
};

} // namespace

const Algorithm& minimum_spanning_tree() {
  static const MinimumSpanningTree algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
