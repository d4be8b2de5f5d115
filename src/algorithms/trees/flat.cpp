/// The flat tree: the root serves all ranks itself, one after the other.
/// Source: Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel, Dongarra: Performance Analysis of MPI
/// Collective Operations, section "Broadcast" (linear).
#include "algorithms/order.hpp"
#include "algorithms/trees/tree.hpp"

#include <algorithm>

namespace thalweg::algorithms {
namespace {

class Flat final : public TreeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "flat"; }
  [[nodiscard]] std::string_view source() const override {
    return "Pjesivac-Grbovic et al.: Performance Analysis of MPI Collective Operations, section "
           "Broadcast (linear)";
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    const Rank root = natural_root(problem, parameters);
    std::vector<Rank> order = make_order(problem, parameters, root, Shape::chain);
    // The farthest rank first: its message takes longest.
    if (parameters.order == Order::closeness) std::reverse(order.begin() + 1, order.end());
    std::vector<Rank> parents(order.size(), root);
    parents[static_cast<std::size_t>(root)] = collective::no_rank;
    return tree(problem, parameters, std::move(order), std::move(parents));
  }
};

} // namespace

const Algorithm& flat() {
  static const Flat algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
