/// The binomial tree: in each round every rank that has the data sends it to one that doesn't. Each
/// subtree is a contiguous part of the order, so that in an order of closeness few messages cross
/// long links.
/// Source: Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in
/// MPICH, sections "Broadcast" and "Reduce".
#include "algorithms/segments.hpp"
#include "algorithms/trees/tree.hpp"

namespace thalweg::algorithms {
namespace {

class Binomial final : public TreeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "binomial"; }
  [[nodiscard]] std::string_view source() const override {
    return "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
           "MPICH, sections Broadcast and Reduce";
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    Skeleton skeleton = joined_tree(problem, parameters, join_binomially);
    skeleton.window = one_at_a_time(parameters); // rounds
    return skeleton;
  }
};

} // namespace

const Algorithm& binomial() {
  static const Binomial algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
