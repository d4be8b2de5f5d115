#pragma once

#include "runtime/observe/clock_bounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace thalweg::runtime::observe {

/// What all hosts' clocks lacked of rank 0's, each time that they were compared. Rank 0 alone keeps
/// all readings, for the run record; the others, which may be thousands, keep that of their host.
class ClockHistory {
public:
  /// The most comparisons that are kept.
  static constexpr std::size_t most = 32;

  /// Adds a comparison. @param readings by host, @param host this rank's
  void add(std::vector<ClockReading> readings, std::size_t host, bool is_rank_0) {
    _largest_error_ns = std::ranges::max(readings, {}, &ClockReading::error_ns).error_ns;
    _latest = readings[host];
    if (_size++ == 0) _first = _latest;
    if (is_rank_0) _all.push_back(std::move(readings));
  }
  /// Forgets every second comparison where there are as many as are kept. Returns whether it did:
  /// the same on all ranks.
  bool thin_out() {
    if (_size < most) return false;
    std::size_t number = 0;
    std::erase_if(_all, [&](const auto&) { return number++ % 2 == 1; });
    _size = (_size + 1) / 2;
    return true;
  }

  /// Returns the number of comparisons that are kept.
  [[nodiscard]] std::size_t size() const { return _size; }
  /// Returns the readings of this rank's host. Requires that there was a comparison.
  [[nodiscard]] const ClockReading& first() const { return _first; }
  [[nodiscard]] const ClockReading& latest() const { return _latest; }
  /// Returns the largest error of all hosts in the latest comparison.
  [[nodiscard]] std::int64_t largest_error_ns() const { return _largest_error_ns; }
  /// Returns what is kept of all hosts, by comparison and host; nothing on ranks other than 0.
  [[nodiscard]] const std::vector<std::vector<ClockReading>>& all() const { return _all; }

private:
  std::vector<std::vector<ClockReading>> _all;
  std::size_t _size = 0;
  ClockReading _first{}, _latest{};
  std::int64_t _largest_error_ns = 0;
};

} // namespace thalweg::runtime::observe
