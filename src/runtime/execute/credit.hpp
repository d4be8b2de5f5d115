#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace thalweg::runtime {

/// A receiver acknowledges every so many messages of a sender. Both count the messages of their
/// ordered pair, which they post in the same order.
inline constexpr std::int64_t acknowledged_together = 32;

/// How far a rank may run ahead of another, to which it sends.
struct CreditLimit {
  std::int64_t messages = 64;
  std::int64_t bytes = std::int64_t{4} << 20;

  /// Returns the limit for a path, from what both ends and all networks need for full speed: the
  /// messages that a rank can begin during a round trip, at 1 µs each (64 at least, 4096 at most),
  /// and the bytes that the path holds during a round trip (4 MiB at least). The rate may be
  /// unlimited.
  static CreditLimit of_path(double latency_seconds, double bytes_per_second) {
    const double round_trip = 2 * latency_seconds;
    if (round_trip <= 0) return {};
    const auto messages = static_cast<std::int64_t>(std::min(round_trip * 1e6, 4096.0));
    const auto bytes = static_cast<std::int64_t>(std::min(round_trip * bytes_per_second, 1e12));
    const CreditLimit least;
    return {std::max(messages, least.messages), std::max(bytes, least.bytes)};
  }
};

/// A sender's account with one receiver: what it has sent and the receiver isn't known to have
/// matched, which bounds what can lie at the receiver unexpected.
///
/// A message may be sent while fewer than max(64, 2 * window) are outstanding, or while fewer
/// messages and bytes are than the limit says. Nothing deadlocks: of the lowest incomplete message
/// of all ranks, all earlier messages of its pair are complete, hence acknowledged, up to fewer
/// than acknowledged_together.
class Credit {
public:
  Credit() = default;
  explicit Credit(CreditLimit limit) : _limit(limit) {}

  [[nodiscard]] bool may_send(int window) const {
    static_assert(2 * acknowledged_together <= CreditLimit{}.messages);
    if (_messages < std::max(2 * acknowledged_together, std::int64_t{2} * window)) return true;
    return _messages < _limit.messages && _bytes < _limit.bytes;
  }
  /// Counts a message that is sent. Returns whether the receiver will acknowledge it, with all
  /// before it.
  bool sent(std::int64_t bytes) {
    ++_messages;
    _bytes += bytes;
    _batch_bytes += bytes;
    if (++_in_batch < acknowledged_together) return false;
    _batches.push_back(_batch_bytes);
    _in_batch = _batch_bytes = 0;
    return true;
  }
  /// Counts an acknowledgement.
  void acknowledged() {
    _messages -= acknowledged_together;
    _bytes -= _batches.front();
    _batches.erase(_batches.begin());
  }
  /// Whether a message that will be acknowledged hasn't been.
  [[nodiscard]] bool awaits_acknowledgement() const { return !_batches.empty(); }

private:
  CreditLimit _limit;
  std::int64_t _messages = 0, _bytes = 0;
  std::int64_t _in_batch = 0, _batch_bytes = 0; ///< of the batch that isn't complete
  /// Bytes, by acknowledgement to come: few, and no memory before the first one.
  std::vector<std::int64_t> _batches;
};

/// The receiver's end of the account.
class CreditReceiver {
public:
  /// Counts a receive as it is posted. Returns whether it is to be acknowledged when it completes.
  bool posted() {
    if (++_in_batch < acknowledged_together) return false;
    _in_batch = 0;
    return true;
  }

private:
  std::int64_t _in_batch = 0;
};

} // namespace thalweg::runtime
