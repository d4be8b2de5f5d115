#pragma once

#include "algorithms/algorithm.hpp"

#include <string_view>

namespace thalweg::planner {

using algorithms::Problem;
using algorithms::Skeleton;

/// Finds the windows that are worth trying besides the usual one: where a way is long and fast, so
/// few messages don't fill it, and whoever waits for their ends leaves it empty.
class LongWay {
public:
  /// The way between two of the ranks' hosts on which most is under way. Of many hosts some stand
  /// for all. O(min(ranks, 128)²).
  LongWay(const Problem& problem, std::string_view library);

  /// Messages of the skeleton that fill the way, there and back: a power of two, up to
  /// schedule::widest_window. 0 if the usual window does, if the way is short, if no rank has more
  /// messages, or if the skeleton has a window of its own. O(what a rank does) on long ways.
  [[nodiscard]] std::int32_t window(const Problem& problem, const Skeleton& skeleton) const;

private:
  double _round_trip = 0, _rate = 1; ///< seconds, bytes per second
  double _overhead;                  ///< seconds that a message takes at an end at least
};

} // namespace thalweg::planner
