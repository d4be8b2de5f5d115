/// Reduce_scatter by recursive halving: ranks of two halves exchange all that the other half needs,
/// then ranks of two quarters, and so on. In rank order every message is contiguous, but the
/// largest ones go farthest.
/// Source: Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in
/// MPICH, section "Reduce-scatter". Folded ranks are spread evenly here.
#include "algorithms/order.hpp"
#include "algorithms/rounds/hypercube.hpp"

namespace thalweg::algorithms {
namespace {

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
