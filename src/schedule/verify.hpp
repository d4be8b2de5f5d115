#pragma once

#include "schedule/schedule.hpp"

namespace thalweg::schedule {

/// Replays one segment step by step and checks that it turns the collective's precondition into its
/// postcondition: every read finds the chunk it names, every contribution is combined exactly once and
/// in ascending order of ranks, at most one copy goes into a place per step, transfers ascend
/// by (step, from, to); for allreduce all ranks hold the same expression for each chunk, which proves
/// the same bits. Also that pipelining is safe: segments touch disjoint chunks, so it is.
/// Contributions are exact sets up to 64 ranks and sums of random 64-bit weights above (wrong with
/// probability below 2^-40). Cost O(transfers × chunks moved).
/// @throws std::invalid_argument naming the first transfer at fault, or the rank, chunk and what it lacks
void verify(const Collective& collective, const Schedule& schedule);

} // namespace thalweg::schedule
