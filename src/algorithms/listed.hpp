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

} // namespace thalweg::algorithms
