#pragma once

#include "simulator/posts.hpp"
#include "simulator/traffic.hpp"

#include <vector>

namespace thalweg::simulator {

/// Calls of the same ranks that follow each other: a rank enters a call when it has left the one
/// before, and its messages pass ports that those of earlier calls leave. By Fidelity::fast.
class CallSequence {
public:
  /// @param window as of SimulationOptions
  explicit CallSequence(int window = 0) : _window(window) {}
  /// Returns when ranks enter the next call; empty before the first, which all enter at 0.
  [[nodiscard]] const std::vector<Time>& entries() const { return _entries; }
  /// Simulates the next call, and counts time from its first exit on after that. The problems' and
  /// posts' times of a call count from the first exit of the one before.
  /// @throws std::invalid_argument as simulate_posts() does
  Posts next(Problem problem, const Skeleton& skeleton);
  /// The same of a workload, as simulate_posts() takes it.
  Posts next(Problem problem, const CallWorkload& call);

private:
  int _window;
  std::vector<Time> _entries;
  Traffic _traffic;
};

/// The calls in a row by which time_in_a_row() judges.
inline constexpr int calls_in_a_row = 6;

/// Returns what a call takes on average in the second half of calls_in_a_row ones: the time between
/// the ends of two. Where ranks may run ahead (collective::synchronizes()), calls overlap, and it
/// may be far shorter than a single call. Costs a simulation of each, without guessing.
/// @param window as of SimulationOptions
/// @throws std::invalid_argument as simulate_posts() does
Time time_in_a_row(const Problem& problem, const Skeleton& skeleton, int window = 0);

} // namespace thalweg::simulator
