#pragma once

#include "mapping/problem.hpp"

namespace thalweg::mapping {

/// Returns a problem's matrix with the messages whose latency somebody waits for. Where nothing
/// flows back from a receiver to its sender, not even through others, the sender doesn't wait for
/// what depends on the receiver: its messages are in transit side by side, and the receiver waits
/// for the latency of one, and of another one after each call of a collective by all ranks. So no
/// more are left between ranks in different strongly connected components of the matrix. Bytes
/// stay. O(pairs log pairs).
Communication without_streams(const Problem& problem);

/// Returns the problem with that matrix, if its metric counts both latencies and bytes.
Problem with_waits(Problem problem);

} // namespace thalweg::mapping
