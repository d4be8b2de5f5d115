#pragma once

#include "simulator/simulator.hpp"

namespace thalweg::simulator {

/// Estimates the time of simulate() from a part of the schedule. Simulates one segment by `fast`;
/// each further one adds the time of the busiest CPU, port, trunk or connection for it, which is
/// exact for a pipelined chain of equal links. A segment with more than options.max_messages
/// messages (0: any number), and more than 4 per rank, or with more than most_chunks_carried, is
/// neither simulated nor expanded: in a sample of ranks each phase takes as long as its slowest
/// rank, and all phases together at least as long as the busiest resource. O(messages of a
/// segment), or of the sample.
/// @throws std::invalid_argument as simulate()
Time estimate(const Problem& problem, const Skeleton& skeleton, const SimulationOptions& options);

} // namespace thalweg::simulator
