/// The minimum spanning tree of latencies, by Prim's algorithm from the root, from which HLOT
/// starts and with which it is compared. Source: Park et al.: HLOT, section 3.1.
#include "algorithms/quick.hpp"
#include "algorithms/trees/latency_weight.hpp"
#include "algorithms/trees/tree.hpp"

#include <numeric>

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
    std::vector<Rank> group(problem.placement.size());
    std::iota(group.begin(), group.end(), 0);
    std::swap(group.front(), group[static_cast<std::size_t>(root)]);
    std::vector<Rank> order = {root};
    std::vector<Rank> parents(group.size(), collective::no_rank);
    optimization::join_by_lightest_link(group, latency_weight(problem),
                                        optimization::LinkTest::none, order, parents);
    return tree(problem, parameters, std::move(order), std::move(parents));
  }
};

} // namespace

const Algorithm& minimum_spanning_tree() {
  static const MinimumSpanningTree algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
