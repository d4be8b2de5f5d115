#pragma once

#include "runtime/mpi/native.hpp"
#include "runtime/observe/clock_bounds.hpp"

#include <cstdint>
#include <vector>

namespace thalweg::runtime {

/// Compares the clocks of all hosts with rank 0's: the first rank of each host exchanges short
/// messages with rank 0 once that has invited it to, and rank 0 broadcasts the readings. Returns
/// each host's. Collective over `comm`; takes an invitation, seven round trips,
/// or one if it is longer than 3 ms, a last message and a broadcast. Of more than 64 hosts as many
/// are compared at once, or twice as many in each turn where paths are longer than about 2 ms.
/// @param hosts number of each rank's host, in the order of appearance from 0, @param tag that no
/// other message has
std::vector<observe::ClockReading> compare_clocks(const std::vector<std::int32_t>& hosts,
                                                  MPI_Comm comm, int tag);

} // namespace thalweg::runtime
