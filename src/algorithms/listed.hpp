#pragma once

#include "algorithms/algorithm.hpp"

/// The algorithm "listed" keeps a schedule made elsewhere transfer by transfer, so that plans can
/// contain and execute it like any other.
namespace thalweg::algorithms {

/// Returns the schedule as a skeleton. Skeleton::transfers holds for each transfer, in order: from,
/// to, step, how, src, dst, the number of its ranges, and for each range first, count and stride.
/// Sizes other than the collective's are cut into segments of the same size. O(transfers).
/// @throws std::invalid_argument if the schedule doesn't do what the collective asks for
/// (schedule::verify)
Skeleton list(const Collective& collective, const schedule::Schedule& schedule);

} // namespace thalweg::algorithms
