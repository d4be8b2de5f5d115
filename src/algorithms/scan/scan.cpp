#include "algorithms/scan/scan.hpp"

#include "algorithms/order.hpp"
#include "algorithms/segments.hpp"

namespace thalweg::algorithms {

using collective::Kind;

bool ScanAlgorithm::supports(Kind kind) const { return collective::is_prefix(kind); }

std::vector<Parameters> ScanAlgorithm::candidates(const Problem& problem) const {
  return segmented(problem);
}

Skeleton ScanAlgorithm::build(const Problem& problem, const Parameters& parameters) const {
  Skeleton skeleton = begin(problem, parameters);
  skeleton.order = make_order(problem, {.order = Order::rank}, 0, Shape::chain);
  skeleton.period = period(problem.collective.kind);
  return skeleton;
}

} // namespace thalweg::algorithms
