/// Reduce_scatter by recursive halving that begins with the nearest neighbours: the largest
/// messages cross the shortest links. In rank order contributions are only combined with those of
/// adjacent ranks, as an operation that doesn't commute requires.
/// Source: Träff: An Improved Algorithm for (Non-commutative) Reduce-Scatter with an Application;
/// MPICH's recursive doubling (reduce_scatter_intra_noncommutative.c) without the data that nobody
/// needs.
#include "algorithms/order.hpp"
#include "algorithms/rounds/hypercube.hpp"

namespace thalweg::algorithms {
namespace {

class Butterfly final : public HalvingAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "butterfly"; }
  [[nodiscard]] std::string_view source() const override {
    return "Träff: An Improved Algorithm for (Non-commutative) Reduce-Scatter with an Application";
  }
  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    return halving(problem, parameters, make_order(problem, parameters, 0, Shape::both_directions));
  }
};

} // namespace

const Algorithm& butterfly() {
  static const Butterfly algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
