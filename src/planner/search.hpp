#pragma once

#include "planner/moves.hpp"
#include "simulator/simulator.hpp"

#include <functional>

namespace thalweg::planner {

/// The cost limit of one climb, and its simulations.
struct Climb {
  std::uint64_t seed = 0;
  std::int64_t messages = 0; ///< simulated at most; the climb ends after the first beyond
  simulator::SimulationOptions fast, fluid; ///< `fluid` confirms changes that `fast` finds better
  /// As PlanOptions::is_cancelled, asked before each change.
  std::function<bool()> is_cancelled = {};
};

struct Climbed {
  Skeleton skeleton;
  Time fast{}, fluid{};
  std::int64_t evaluations = 0, accepted = 0;
};

/// Changes the skeleton while that makes it faster: keeps a change that the fast simulator finds
/// better and the fluid one not worse. Anytime: the result is never worse, judged by fluid, than
/// the start, and more messages never lead to a worse one. Deterministic. @throws Cancelled
Climbed climb(const Problem& problem, const Skeleton& start, const Climb& options);

} // namespace thalweg::planner
