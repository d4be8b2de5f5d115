#pragma once

#include "probe/coordinator.hpp"

namespace thalweg::probe {

/// Times the library's own MPI_Bcast (root 0) and MPI_Allreduce (sum of floats) on all hosts, at
/// sizes from 1 KB to 8 MB: the last exit minus the last entry, for bcast minus the root's entry.
/// The median of a few repetitions; sizes that the rest of the budget has no time for are left out.
/// Un-dilated.
/// @param farthest the longest latency from rank 0, on the wall clock
std::vector<network::NativeTime> measure_collectives(Coordinator& coordinator, Nanoseconds farthest,
                                                     double share);

/// One rank's part of one call.
Words time_collective(const Channel& channel, const Words& order);

} // namespace thalweg::probe
