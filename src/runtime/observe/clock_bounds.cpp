#include "runtime/observe/clock_bounds.hpp"

#include <algorithm>

namespace thalweg::runtime::observe {

void ClockBounds::add(std::int64_t before_ns, std::int64_t there_ns, std::int64_t after_ns) {
  const std::int64_t least = there_ns - after_ns, most = there_ns - before_ns;
  _least_ns = _any ? std::max(_least_ns, least) : least;
  _most_ns = _any ? std::min(_most_ns, most) : most;
  _at_ns = after_ns;
  _any = true;
}

/// The clocks' drift during the exchanges may make the bounds cross; then both are as good.
ClockReading ClockBounds::reading() const {
  const std::int64_t low = std::min(_least_ns, _most_ns), high = std::max(_least_ns, _most_ns);
  const std::int64_t middle = low + (high - low) / 2;
  return {_at_ns, middle, std::max<std::int64_t>(high - middle, 1)};
}

} // namespace thalweg::runtime::observe
