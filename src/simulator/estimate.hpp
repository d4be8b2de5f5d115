#pragma once

#include "simulator/simulator.hpp"

namespace thalweg::simulator {

/// About what simulate() finds, from a part of the schedule. One segment is simulated, by `fast`;
/// each further one adds what the busiest CPU, port, trunk or connection takes for it, which is
/// exact for a pipelined chain of equal links. A segment of more than options.max_messages messages
/// (0: of any number), and more than 4 per rank, isn't simulated either, nor ever expanded: of a
/// sample of ranks, each step takes as long as its longest message, and all of it at least as long
/// as what is busiest. O(messages of a segment), or of the sample.
/// @throws std::invalid_argument as simulate()
Time estimate(const Problem& problem, const Skeleton& skeleton, const SimulationOptions& options);

} // namespace thalweg::simulator
