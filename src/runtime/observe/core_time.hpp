#pragma once

#include "runtime/observe/clock.hpp"

#include <cstdint>

namespace thalweg::runtime::observe {

/// How long the calling thread has had a core, and how often it was put aside.
struct CoreTime {
  const void* thread = nullptr; ///< a place that only this thread has; null: not known
  std::int64_t at_ns = 0;       ///< CLOCK_MONOTONIC
  std::int64_t on_core_ns = 0;
  std::int64_t put_aside = 0; ///< involuntary context switches, also by sched_yield()

  /// Returns the thread's numbers at `now`, or those of at most 2^18 ticks ago (about 0.1 ms):
  /// asking the system takes 0.3 µs, which short calls can't afford.
  static CoreTime lately(Ticks now);
  /// Returns for how long the thread was without a core since `begin`, if it was put aside since; 0
  /// if it wasn't, or for another thread.
  [[nodiscard]] std::int64_t off_core_ns(const CoreTime& begin) const;
};

} // namespace thalweg::runtime::observe
