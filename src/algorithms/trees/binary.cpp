/// The binary tree: each rank serves two others, or as many as `degree`, whose subtrees differ by
/// at most one rank. With segments every rank is equally busy, for any number of ranks.
/// Source: Pjesivac-Grbovic et al.: Performance Analysis of MPI Collective Operations, section
/// "Broadcast" (binary). Here a subtree is a contiguous part of the order.
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
