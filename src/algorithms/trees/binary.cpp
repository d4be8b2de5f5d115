/// The binary tree: each rank serves two, or as many as the degree says, whose subtrees differ by
/// one rank at most. In segments every rank is as busy as any other, however many there are.
/// Source: Pjesivac-Grbovic et al.: Performance Analysis of MPI Collective Operations, section
/// "Broadcast" (binary). Here subtrees are stretches of the order.
#include "algorithms/segments.hpp"
#include "algorithms/trees/tree.hpp"

namespace thalweg::algorithms {
namespace {

class Binary final : public TreeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "binary"; }
  [[nodiscard]] std::string_view source() const override {
    return "Pjesivac-Grbovic et al.: Performance Analysis of MPI Collective Operations, section "
           "Broadcast (binary)";
  }
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override {
    return first_of(segments(problem), 2);
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    return joined_tree(problem, parameters, [&](auto group, auto& order, auto& parents) {
      join_evenly(group, parameters.degree, order, parents);
    });
  }
};

} // namespace

const Algorithm& binary() {
  static const Binary algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
