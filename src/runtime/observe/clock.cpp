#include "runtime/observe/clock.hpp"

#include <ctime>
#include <limits>

#if defined(THALWEG_SIMULATED)
#include <simgrid/engine.h>
#elif defined(THALWEG_HAS_COUNTER)
#include <cpuid.h>
#endif

namespace thalweg::runtime::observe {

std::int64_t monotonic_ns() {
#if defined(THALWEG_SIMULATED)
  return static_cast<std::int64_t>(simgrid_get_clock() * 1e9);
#else
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
#endif
}

bool detail::has_invariant_counter() {
#if defined(THALWEG_HAS_COUNTER)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
#else
  return false;
#endif
}

/// Reads both clocks several times and returns the pair whose readings are closest together.
Calibration::Pair Calibration::read() {
  Pair best{};
  Ticks closest = std::numeric_limits<Ticks>::max();
  for (int i = 0; i < 5; ++i) {
    const Ticks before = now();
    const std::int64_t ns = monotonic_ns();
    const Ticks after = now();
    if (after - before >= closest) continue;
    closest = after - before;
    best = {before + closest / 2, ns};
  }
  return best;
}

Calibration::Calibration() : _start(read()) {}

void Calibration::calibrate() {
  const Pair end = read();
  if (end.ticks > _start.ticks)
    _ns_per_tick =
        static_cast<double>(end.ns - _start.ns) / static_cast<double>(end.ticks - _start.ticks);
}

std::int64_t Calibration::to_ns(Ticks ticks) const {
  return _start.ns +
         static_cast<std::int64_t>(static_cast<double>(ticks - _start.ticks) * _ns_per_tick);
}

} // namespace thalweg::runtime::observe
