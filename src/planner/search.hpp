#pragma once

#include "planner/moves.hpp"
#include "simulator/simulator.hpp"

namespace thalweg::planner {

/// What one climb may cost, and how it judges.
struct Climb {
  std::uint64_t seed = 0;
  std::int64_t messages = 0; ///< that may be simulated; it ends after the first beyond
  simulator::SimulationOptions fast, fluid; ///< the latter judges what the former finds better
};

struct Climbed {
  Skeleton skeleton;
  Time fast{}, fluid{};
  std::int64_t evaluations = 0, accepted = 0;
};

/// Changes the skeleton as long as that makes it faster: a change that the fast simulator finds
/// better, and the fluid one not worse, is kept. Anytime: what it returns is never worse, judged by
/// fluid, than what it began with, and more messages never lead to less. Deterministic.
Climbed climb(const Problem& problem, const Skeleton& start, const Climb& options);

} // namespace thalweg::planner
