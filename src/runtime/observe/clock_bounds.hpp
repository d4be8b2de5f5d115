#pragma once

#include <cstdint>
#include <optional>

namespace thalweg::runtime::observe {

/// What a host's CLOCK_MONOTONIC lacks of that of world rank 0's host at a moment, in nanoseconds.
struct ClockReading {
  std::int64_t at_ns = 0;     ///< by the host's own clock
  std::int64_t offset_ns = 0; ///< added to the own time, it gives rank 0's
  std::int64_t error_ns = 0;  ///< the offset is within this distance, however asymmetric the paths
};

/// What an exchange of two messages with rank 0 says: its clock's `there_ns` lies between
/// `before_ns` and `after_ns` of the own clock. Several narrow each other.
class ClockBounds {
public:
  void add(std::int64_t before_ns, std::int64_t there_ns, std::int64_t after_ns);
  [[nodiscard]] ClockReading reading() const;

private:
  bool _any = false;
  std::int64_t _least_ns = 0, _most_ns = 0, _at_ns = 0;
};

/// What this host's clock lacks of rank 0's at any time after the latest comparison, from what two
/// comparisons far apart say of its drift. Clocks are trusted to run within 100 ppm of each other,
/// and to keep their drift within 10 ppm for some minutes.
class ComparedClock {
public:
  /// Adds a comparison later than those before.
  void add(const ClockReading& reading);
  /// Returns what is expected at `at_ns` of the own clock; nothing if nothing was compared.
  [[nodiscard]] std::optional<ClockReading> at(std::int64_t at_ns) const;

private:
  std::optional<ClockReading> _base, _next_base, _latest;
};

} // namespace thalweg::runtime::observe
