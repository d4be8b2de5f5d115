#pragma once

#include "algorithms/algorithm.hpp"
#include "optimization/prim.hpp"

namespace thalweg::algorithms {

/// The latency of a link in the direction in which the collective's data flows; where it flows both
/// ways, the longer one. The problem must outlive the result.
optimization::LinkWeight latency_weight(const Problem& problem);

} // namespace thalweg::algorithms
