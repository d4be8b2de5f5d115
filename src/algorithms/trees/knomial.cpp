/// The k-nomial tree: in each round every rank that has the data sends it to k - 1 that don't,
/// where k is the degree. Shallower than the binomial tree, whose nodes have fewer children.
/// Source: Open MPI, coll_base_bcast.c (knomial); MPICH, MPIR_Bcast_intra_tree (knomial_1).
#include "algorithms/segments.hpp"
#include "algorithms/trees/tree.hpp"

namespace thalweg::algorithms {
namespace {

class Knomial final : public TreeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "knomial"; }
  [[nodiscard]] std::string_view source() const override {
    return "Open MPI, coll_base_bcast.c (knomial); MPICH, MPIR_Bcast_intra_tree (knomial_1)";
  }
  /// The default of both libraries.
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& /*problem*/) const override {
    return {{.degree = 4}};
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    Skeleton skeleton =
        joined_tree(problem, parameters, [&](auto group, auto& order, auto& parents) {
          join_knomially(group, parameters.degree, order, parents);
        });
    skeleton.window = one_at_a_time(parameters); // rounds
    return skeleton;
  }
};

} // namespace

const Algorithm& knomial() {
  static const Knomial algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
