#pragma once

#include "probe/coordinator.hpp"

namespace thalweg::probe {

/// Times the library's own collectives (root 0, sums of floats) on all hosts: each of them with
/// vectors of 1 KB, 32 KB and 1 MB, or blocks that together are as large, then the sizes between
/// and 8 MB. The last exit minus the last entry, for bcast and scatter minus the root's entry. The
/// median of a few repetitions until two agree, as the rest of the time allows; sizes that it has
/// no time for are left out. Un-dilated.
/// @param farthest the longest latency from rank 0, on the wall clock
std::vector<network::NativeTime> measure_collectives(Coordinator& coordinator,
                                                     Nanoseconds farthest);

/// One rank's part of one call.
Words time_collective(const Channel& channel, const Words& order);

} // namespace thalweg::probe
