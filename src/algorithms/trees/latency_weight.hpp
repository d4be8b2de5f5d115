#pragma once

#include "algorithms/algorithm.hpp"
#include "optimization/prim.hpp"

namespace thalweg::algorithms {

/// Weighs a link by its latency in the direction in which the collective's data flows; if it flows
/// in both, by the longer one. The problem must outlive the result.
optimization::LinkWeight latency_weight(const Problem& problem);

} // namespace thalweg::algorithms
