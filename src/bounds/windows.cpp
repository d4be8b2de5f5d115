#include "bounds/windows.hpp"

#include <algorithm>

namespace thalweg::bounds {

double least_time(std::vector<Window> windows, double size) {
  std::ranges::sort(windows, {}, &Window::latency);
  // Σ capacity and Σ capacity · latency of the windows that have opened.
  double rate = 0, missed = 0;
  double time = std::numeric_limits<double>::infinity();
  for (const Window& window : windows) {
    if (time <= window.latency) break;
    if (window.capacity == std::numeric_limits<double>::infinity()) return window.latency;
    rate += window.capacity;
    missed += window.capacity * window.latency;
    if (rate > 0) time = (size + missed) / rate;
  }
  return time;
}

} // namespace thalweg::bounds
