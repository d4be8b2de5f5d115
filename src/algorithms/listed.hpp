#pragma once

#include "algorithms/algorithm.hpp"

/// The algorithm "listed": a schedule that was made elsewhere, kept transfer by transfer, so that
/// it can stand in a plan and be executed like any other.
namespace thalweg::algorithms {

/// The schedule as a skeleton. Skeleton::transfers holds for each transfer, in their order: from,
/// to, step, how, src, dst, the number of its ranges, and of each range first, count and stride.
/// Other sizes than the collective's are cut into segments of the same size. O(transfers).
/// @throws std::invalid_argument if the schedule doesn't do what the collective asks for
/// (schedule::verify)
Skeleton list(const Collective& collective, const schedule::Schedule& schedule);

/// Whether a skeleton of "listed" has transfers, which ascend by (step, from, to) and name its
/// ranks and chunks only, and one of another algorithm has none. Not whether they do what a
/// collective asks for. O(transfers).
bool has_sound_list(const Skeleton& skeleton);

} // namespace thalweg::algorithms
