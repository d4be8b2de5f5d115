#pragma once

#include <limits>
#include <vector>

namespace thalweg::bounds {

/// A capacity that data can use during all but `latency` of an operation's time.
struct Window {
  double capacity = std::numeric_limits<double>::infinity(); ///< bytes per second
  double latency = 0;                                        ///< seconds, not negative
};

/// Returns the least T with size ≤ Σ capacity · max(0, T - latency); infinite if there is none.
double least_time(std::vector<Window> windows, double size);

} // namespace thalweg::bounds
