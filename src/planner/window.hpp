#pragma once

#include "algorithms/algorithm.hpp"

namespace thalweg::planner {

using algorithms::Problem;
using algorithms::Skeleton;

/// Finds the windows that are worth trying besides the usual one: where a way is long and fast, so
/// that few messages don't fill it, and where some are so slow that those on them hold up the rest.
class LongPath {
public:
  /// The way between two of the ranks' hosts on which most is under way, and the slowest and the
  /// fastest one. Of many hosts some stand for all. O(min(ranks, 128)²).
  explicit LongPath(const Problem& problem);

  /// Messages of the skeleton that go on while some go there and back on the long way, or while a
  /// usual window of them shares the slowest one: a power of two, up to schedule::widest_window. 0
  /// if the usual window holds them, if no rank has more messages, or if the skeleton has a window
  /// of its own. O(what a rank does), where ways differ or are long.
  [[nodiscard]] std::int32_t window(const Problem& problem, const Skeleton& skeleton) const;

private:
  struct Path {
    double round_trip = 0, rate = 1; ///< seconds, bytes per second
    [[nodiscard]] double bandwidth_delay() const { return round_trip * rate; }
  };
  Path _long;                    ///< for pipelines only if it is worth it
  Path _fullest;                 ///< of any length
  double _slowest, _fastest = 0; ///< bytes per second
  double _overhead;              ///< seconds that a message takes at an end at least
};

} // namespace thalweg::planner
