#pragma once

#include "mapping/state.hpp"

#include <cstdint>

namespace thalweg::mapping {

/// How a placement is refined.
struct RefineOptions {
  std::uint64_t seed = 0;
  std::int64_t moves = 0; ///< exact evaluations of changes, at most; some more end what has begun
};

/// Changes a placement while that lowers its cost: swaps of two ranks, moves to free slots, and
/// cycles of two or three ranks that are followed by swaps and moves around them. Capacities and
/// pinned ranks are kept. The result never costs more than the start; more moves never make it
/// worse; the same input gives the same output.
/// @param start within capacities
Placement refine(const Problem& problem, const HostCosts& costs, const Placement& start,
                 const RefineOptions& options);

} // namespace thalweg::mapping
