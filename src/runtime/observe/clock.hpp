#pragma once

#include <array>
#include <cstdint>

#if defined(__x86_64__) && !defined(THALWEG_SIMULATED)
#define THALWEG_HAS_COUNTER 1
#include <x86intrin.h>
#endif

namespace thalweg::runtime::observe {

/// A time of this host, as cheap as possible: the time stamp counter where it runs at a constant
/// rate on all cores, else CLOCK_MONOTONIC in nanoseconds. In a simulated program the simulation's
/// time takes the place of both.
using Ticks = std::int64_t;

/// Returns nanoseconds of CLOCK_MONOTONIC.
std::int64_t monotonic_ns();

namespace detail {
bool has_invariant_counter();
inline const bool use_counter = has_invariant_counter();
} // namespace detail

inline Ticks now() {
#if defined(THALWEG_HAS_COUNTER)
  if (detail::use_counter) return static_cast<Ticks>(__rdtsc());
#endif
  return monotonic_ns();
}

/// Ticks as nanoseconds of CLOCK_MONOTONIC: `ns` at `ticks`, and `ns_per_tick` from there.
struct TickScale {
  Ticks ticks = 0;
  std::int64_t ns = 0;
  double ns_per_tick = 1;
};

/// What this host's CLOCK_MONOTONIC lacks of that of world rank 0's host, as compared at the start
/// and at the end: at `at_ns` of this clock `offset_ns`, give or take `error_ns`, which is negative
/// where nothing was compared. Between and beyond, the offset is on the line through both.
struct ClockFit {
  std::array<std::int64_t, 2> at_ns{}, offset_ns{}, error_ns{-1, -1};
};

/// Turns ticks into nanoseconds of CLOCK_MONOTONIC by comparing both clocks at its construction and
/// at calibrate(): the longer the time between, the better (1 ms: 1e-4; 1 s: 1e-7).
class Calibration {
public:
  Calibration();
  void calibrate();
  [[nodiscard]] std::int64_t to_ns(Ticks ticks) const;
  [[nodiscard]] TickScale scale() const { return {_start.ticks, _start.ns, _ns_per_tick}; }
  /// Returns a difference of ticks in nanoseconds.
  [[nodiscard]] double duration_ns(Ticks ticks) const {
    return static_cast<double>(ticks) * _ns_per_tick;
  }

private:
  struct Pair {
    Ticks ticks;
    std::int64_t ns;
  };
  static Pair read();
  Pair _start;
  double _ns_per_tick = 1;
};

} // namespace thalweg::runtime::observe
