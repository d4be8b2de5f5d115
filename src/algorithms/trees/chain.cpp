/// Several chains, as many as `degree`: the root serves the first rank of each, and ranks pass the
/// data on.
/// Source: Pjesivac-Grbovic et al.: Performance Analysis of MPI Collective Operations, section
/// "Broadcast" (chain); Open MPI's fan-out is 4.
#include "algorithms/order.hpp"
#include "algorithms/segments.hpp"
#include "algorithms/trees/tree.hpp"

#include <algorithm>

namespace thalweg::algorithms {
namespace {

class Chain final : public TreeAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "chain"; }
  [[nodiscard]] std::string_view source() const override {
    return "Pjesivac-Grbovic et al.: Performance Analysis of MPI Collective Operations, section "
           "Broadcast (chain)";
  }
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override {
    std::vector<Parameters> candidates = first_of(segments(problem), 1);
    for (Parameters& parameters : candidates)
      parameters.degree = 4;
    return candidates;
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    const std::vector<Rank> at =
        make_order(problem, parameters, natural_root(problem, parameters), Shape::chain);
    const auto others = static_cast<Rank>(at.size()) - 1;
    const Rank chains = std::min(parameters.degree, others);
    const auto rank = [&](Rank position) { return at[static_cast<std::size_t>(position)]; };
    // Where a chain begins: lengths differ by at most one rank.
    const auto begin = [&](Rank chain) {
      return 1 + static_cast<Rank>(std::int64_t{others} * chain / std::max(chains, 1));
    };
    std::vector<Rank> joined = {at.front()};
    std::vector<Rank> parents(at.size(), collective::no_rank);
    for (Rank distance = 0; distance < others; ++distance)
      for (Rank chain = 0; chain < chains; ++chain) {
        const Rank position = begin(chain) + distance;
        if (position >= begin(chain + 1)) continue;
        parents[static_cast<std::size_t>(rank(position))] =
            distance == 0 ? at.front() : rank(position - 1);
        joined.push_back(rank(position));
      }
    return tree(problem, parameters, std::move(joined), std::move(parents), std::max(chains, 1));
  }
};

} // namespace

const Algorithm& chain() {
  static const Chain algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
