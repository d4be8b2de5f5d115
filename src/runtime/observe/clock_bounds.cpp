#include "runtime/observe/clock_bounds.hpp"

#include <algorithm>
#include <cmath>

namespace thalweg::runtime::observe {
namespace {

constexpr double most_drift = 100e-6; ///< of a clock beside another
constexpr double most_change = 10e-6; ///< of that drift while it is trusted
/// How long the same drift is trusted, at least.
constexpr std::int64_t trusted_ns = 300'000'000'000;

} // namespace

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

void ComparedClock::add(const ClockReading& reading) {
  if (!_base) _base = _next_base = reading;
  if (reading.at_ns - _next_base->at_ns > trusted_ns) {
    _base = _next_base;
    _next_base = reading;
  }
  _latest = reading;
}

std::optional<ClockReading> ComparedClock::at(std::int64_t at_ns) const {
  if (!_latest) return std::nullopt;
  const auto since_ns = static_cast<double>(at_ns - _latest->at_ns);
  const auto base_ns = static_cast<double>(_latest->at_ns - _base->at_ns);
  double drift = 0, drift_error = most_drift;
  if (base_ns > 0) {
    const double error =
        static_cast<double>(_base->error_ns + _latest->error_ns) / base_ns + most_change;
    if (error < most_drift) {
      drift = static_cast<double>(_latest->offset_ns - _base->offset_ns) / base_ns;
      drift_error = error;
    }
  }
  const auto ns = [&](double share) { return std::llround(share * since_ns); };
  return ClockReading{.at_ns = at_ns,
                      .offset_ns = _latest->offset_ns + ns(drift),
                      .error_ns = _latest->error_ns + std::abs(ns(drift_error))};
}

} // namespace thalweg::runtime::observe
