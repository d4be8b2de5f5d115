#pragma once

#include "planner/judge.hpp"

/// Plans for calls in which a rank knows the sizes only of the blocks that it sends or receives
/// itself: gatherv, scatterv, alltoallv and alltoallw.
namespace thalweg::planner {

/// Whether unequal blocks of the kind have sizes that only their two ends know.
constexpr bool may_hide_sizes(collective::Kind kind) {
  return kind == collective::Kind::gather || kind == collective::Kind::scatter ||
         kind == collective::Kind::alltoall;
}

/// Bytes of each block that a plan is built for, and that such a call counts as.
inline constexpr Size assumed_size = 65536;

/// Whether the ranks can carry out the schedule though only its two ends know the size of a block:
/// each goes straight from the one to the other, and whole, since the number of segments is that of
/// assumed_size.
bool needs_only_own_sizes(const collective::Collective& collective, const Skeleton& skeleton);

/// Returns the problem with blocks of a quarter, a half, one and nine quarters of the mean, in a
/// mixed order.
Problem with_uneven_blocks(Problem problem, Size mean);

/// Compares the best candidates with the library's own v-form at four sizes from 256 bytes to 1
/// MiB, which the uneven blocks have on average. Returns the plan that has the shortest times on
/// the geometric mean among those that are somewhere clearly faster than native (Native::to_beat())
/// and nowhere predicted to take over 2 % longer; if there is none, native. Plan::predicted and
/// Plan::native are those for assumed_size.
/// @param at_assumed_size the candidates for that size alone, with native
/// Cost: three simulations of native and of each of at most three candidates.
Plan best_for_all_sizes(const Explanation& at_assumed_size, const Problem& problem,
                        const PlanOptions& options, const Limits& limits);

} // namespace thalweg::planner
