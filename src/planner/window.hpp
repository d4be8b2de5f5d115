#pragma once

#include "algorithms/algorithm.hpp"

namespace thalweg::planner {

using algorithms::Problem;
using algorithms::Skeleton;

/// Finds the windows worth trying besides the usual one: for a path whose bandwidth-delay product
/// is larger than the usual messages in flight, and for links so slow that messages on them hold up
/// the rest.
class LongPath {
public:
  /// Finds, among the ranks' hosts, the path with the largest bandwidth-delay product and the rates
  /// of the slowest and the fastest path. Samples at most 128 hosts: O(min(ranks, 128)²).
  explicit LongPath(const Problem& problem);

  /// Returns how many of the skeleton's messages cover the bandwidth-delay product of the long
  /// path, or keep the fastest path busy while a usual window of them crosses the slowest: a power
  /// of two, at most schedule::widest_window. Returns 0 if the usual window is enough, if no rank
  /// has more messages, or if the skeleton has its own window. O(operations of one rank), unless
  /// all paths are short and equal.
  [[nodiscard]] std::int32_t window(const Problem& problem, const Skeleton& skeleton) const;

  /// Whether a path takes more than an idle connection may send in its first round trip.
  [[nodiscard]] bool starts_slowly(const Problem& problem) const {
    const auto window = static_cast<double>(problem.network.initial_window);
    return window > 0 && window < _fullest.bandwidth_delay();
  }

private:
  struct Path {
    double round_trip = 0, rate = 1; ///< seconds, bytes per second
    [[nodiscard]] double bandwidth_delay() const { return round_trip * rate; }
  };
  Path _long;                    ///< only round trips long enough to matter to a pipeline
  Path _fullest;                 ///< of any round trip
  double _slowest, _fastest = 0; ///< bytes per second
  double _overhead;              ///< least seconds that a message occupies an end
};

} // namespace thalweg::planner
