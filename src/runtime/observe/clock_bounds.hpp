#pragma once

#include <cstdint>

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

} // namespace thalweg::runtime::observe
