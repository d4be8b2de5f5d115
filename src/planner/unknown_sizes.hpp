#pragma once

#include "planner/judge.hpp"

/// Plans for calls in which a rank knows the sizes only of the blocks that it sends or receives
/// itself: gatherv, scatterv, alltoallv and alltoallw.
namespace thalweg::planner {

/// Whether calls of the kind may hide sizes: any schedule for it can then be executed only if it
/// sends blocks directly (algorithms::sends_directly()).
constexpr bool may_hide_sizes(collective::Kind kind) {
  return kind == collective::Kind::gather || kind == collective::Kind::scatter ||
         kind == collective::Kind::alltoall;
}

/// Bytes of each block that a plan is built for, and that such a call counts as.
inline constexpr Size assumed_size = 65536;

/// Plans one collective for all sizes at once. Candidates send blocks directly and whole; each is
/// compared with the library's own v-form at four sizes from 256 bytes to 1 MiB, which the blocks
/// have on average, from a quarter to nine quarters of it. The plan is nowhere predicted to take
/// over 2 % longer than native, somewhere clearly faster (Native::to_beat()), and has the shortest
/// times on the geometric mean; else native is chosen. Plan::predicted and Plan::native are those
/// for assumed_size; there is no bound.
/// @param problem of assumed_size, with a kind that may hide sizes
/// Cost: at most four simulations of each candidate; one of those that are slower at assumed_size.
Plan plan_unknown_sizes(const Problem& problem, const PlanOptions& options, Limits limits);

} // namespace thalweg::planner
