#pragma once

#include "probe/statistics.hpp"

#include <cstdint>
#include <vector>

namespace thalweg::probe {

/// When the messages of a stream arrived. Of long streams it keeps every second message, every
/// fourth, and so on: rates need no more, and long and fast paths take tens of thousands.
class Arrivals {
public:
  /// The most times that are kept.
  static constexpr std::size_t most = 512;

  void add(Nanoseconds time) {
    if (_messages++ % _every != 0) return;
    _times.push_back(time);
    if (_times.size() == most) thin_out();
  }
  /// Returns times of messages that are every() messages apart, from the first one on; ascending.
  [[nodiscard]] const std::vector<Nanoseconds>& times() const { return _times; }
  [[nodiscard]] std::int64_t every() const { return _every; }

private:
  void thin_out() {
    std::size_t kept = 0;
    for (std::size_t at = 0; at < _times.size(); at += 2)
      _times[kept++] = _times[at];
    _times.resize(kept);
    _every *= 2;
  }

  std::vector<Nanoseconds> _times;
  std::int64_t _every = 1, _messages = 0;
};

} // namespace thalweg::probe
