/// Reduce_scatter by recursive halving: ranks of two halves exchange all that the other half needs,
/// then ranks of two quarters, and so on. In rank order every message is contiguous, but the
/// largest ones go farthest.
/// Source: Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in
/// MPICH, section "Reduce-scatter". Folded ranks are spread evenly here.
#include "algorithms/order.hpp"
#include "algorithms/rounds/hypercube.hpp"

#include <algorithm>

namespace thalweg::algorithms {
namespace {

/// Returns an order for a hypercube whose first dimension joins ranks that are half of `near`
/// apart.
std::vector<Rank> farthest_first(const std::vector<Rank>& near) {
  const Hypercube cube(near);
  std::vector<Rank> order(near.size());
  auto next = near.begin();
  for (std::int32_t i = 0; i < cube.corners(); ++i) {
    std::int32_t corner = 0; // i with its bits reversed
    for (std::int32_t bit = 0; bit < cube.rounds(); ++bit)
      corner |= (i >> bit & 1) << (cube.rounds() - 1 - bit);
    const bool folded = corner < cube.folded();
    const auto position = folded ? 2 * corner : corner + cube.folded();
    const std::ptrdiff_t ranks = folded ? 2 : 1;
    std::copy(next, next + ranks, order.begin() + position);
    next += ranks;
  }
  return order;
}

class RecursiveHalving final : public HalvingAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "recursive-halving"; }
  [[nodiscard]] std::string_view source() const override {
    return "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
           "MPICH, section Reduce-scatter";
  }
  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    return halving(problem, parameters,
                   farthest_first(make_order(problem, parameters, 0, Shape::both_directions)));
  }
};

} // namespace

const Algorithm& recursive_halving() {
  static const RecursiveHalving algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
