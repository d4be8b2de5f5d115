#pragma once

#include <cstdint>

namespace thalweg::runtime {

/// Since when a nonblocking collective is open that all ranks of a communicator have begun in the
/// same call of it, and by which they agree (OpenCollective); and whether they wait for it now.
///
/// Ranks may be calls apart, and none should wait for another where the program's own calls don't
/// make it. So they wait once they know that all have entered a later call than that in which it
/// began (Arrivals), or, where nothing begins after that call (Negotiation), that call. Without
/// such knowledge they wait at least 8 calls later, by when it usually is complete: then no rank
/// waits for another that is fewer calls behind. Both depend on the program's calls alone, so all
/// ranks wait in the same call, and follow what they have agreed on from the same call on. Whether
/// it is complete they would learn at different calls.
///
/// With fewer than 8 calls, ranks that run ahead of others, as the root of broadcasts does, would
/// wait for them; with more, what is agreed on would hold later.
class OpenSince {
public:
  static constexpr std::uint64_t least_patience = 8;

  /// @param call the number of the call in which it begins
  void begin(std::uint64_t call) {
    _since = call;
    _is_open = true;
  }
  /// Notes that it is waited for from now on.
  void close() { _is_open = false; }
  /// Whether it has begun and not ended.
  [[nodiscard]] bool is_open() const { return _is_open; }
  /// Whether `call` is at least so many calls after that in which the latest began, open or not.
  [[nodiscard]] bool is_late(std::uint64_t call, std::uint64_t patience = least_patience) const {
    return call >= _since + patience;
  }

private:
  std::uint64_t _since = 0;
  bool _is_open = false;
};

} // namespace thalweg::runtime
