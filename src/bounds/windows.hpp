#pragma once

#include <limits>
#include <vector>

namespace thalweg::bounds {

/// What data of an operation passes, in all but `latency` of the operation's time.
struct Window {
  double capacity = std::numeric_limits<double>::infinity(); ///< bytes per second
  double latency = 0;                                        ///< seconds, not negative
};

/// The least T with size ≤ Σ capacity · max(0, T - latency); infinite if there is none.
double least_time(std::vector<Window> windows, double size);

} // namespace thalweg::bounds
