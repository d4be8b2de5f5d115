#pragma once

#include "runtime/mpi/native.hpp"
#include "runtime/observe/clock_bounds.hpp"

#include <cstdint>
#include <vector>

namespace thalweg::runtime {

/// Compares the clocks of all hosts with rank 0's: the first rank of each host exchanges short
/// messages with rank 0, which broadcasts the readings. Returns the reading of each rank's host.
/// Collective over `comm`; takes eight round trips and a broadcast, or two if they are longer than
/// 3 ms.
/// @param hosts number of each rank's host, from 0 without gaps, @param tag that no other message
/// has
std::vector<observe::ClockReading> compare_clocks(const std::vector<std::int32_t>& hosts,
                                                  MPI_Comm comm, int tag);

} // namespace thalweg::runtime
