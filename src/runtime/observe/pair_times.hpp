#pragma once

#include "collective/collective.hpp"
#include "runtime/observe/clock.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace thalweg::runtime::observe {

/// The messages of a class from one host to another, summed up. Receivers know one half, senders
/// the other; so the sum over all ranks says how long messages took from the moment when they were
/// sent, although no rank saw both ends. Sums are modulo 2^64, which their difference doesn't mind.
struct PairTimes {
  std::uint64_t sends = 0;
  std::uint64_t sent_ns = 0; ///< when they were posted, on rank 0's clock
  std::uint64_t receives = 0;
  std::uint64_t done_ns = 0;   ///< when they were complete, on rank 0's clock
  std::uint64_t waited_ns = 0; ///< from the post of the receive until it was complete
  std::uint64_t squares = 0;   ///< of the waits, in microseconds
  std::uint64_t bytes = 0;     ///< received
  static constexpr std::size_t fields = 7;
  /// Messages of different steps of a schedule are summed up apart, as far as there are classes:
  /// in one step the receiver may wait for the sender, and in another the sender for the receiver.
  static constexpr std::size_t classes = 7;

  PairTimes& operator+=(const PairTimes& other) {
    sends += other.sends;
    sent_ns += other.sent_ns;
    receives += other.receives;
    done_ns += other.done_ns;
    waited_ns += other.waited_ns;
    squares += other.squares;
    bytes += other.bytes;
    return *this;
  }
};
static_assert(sizeof(PairTimes) == PairTimes::fields * sizeof(std::uint64_t));

/// Adds up what one rank knows of the messages of a communicator, by host of the other end. A
/// message costs some nanoseconds besides taking the time.
class PairTimesLog {
public:
  /// @param hosts number of the host of each rank of the communicator
  /// @param offset_ns what this host's clock lacks of rank 0's
  PairTimesLog(std::vector<std::int32_t> hosts, collective::Rank rank, std::int64_t offset_ns)
      : _hosts(std::move(hosts)), _own(_hosts[static_cast<std::size_t>(rank)]),
        _offset_ns(offset_ns) {}
  /// Counts from now on in `outgoing` and `incoming`, which have an entry per host and class.
  void count_in(std::span<PairTimes> outgoing, std::span<PairTimes> incoming) {
    _outgoing = outgoing;
    _incoming = incoming;
  }
  void sent(collective::Rank to, std::int32_t step, Ticks posted) {
    const std::int32_t host = _hosts[static_cast<std::size_t>(to)];
    if (host == _own) return;
    PairTimes& times = _outgoing[place(host, step)];
    ++times.sends;
    times.sent_ns += static_cast<std::uint64_t>(_clock.to_ns(posted) + _offset_ns);
  }
  void received(collective::Rank from, std::int32_t step, std::int64_t bytes, Ticks posted,
                Ticks done) {
    const std::int32_t host = _hosts[static_cast<std::size_t>(from)];
    if (host == _own) return;
    PairTimes& times = _incoming[place(host, step)];
    const std::int64_t done_ns = _clock.to_ns(done);
    const std::int64_t waited_ns = done_ns - _clock.to_ns(posted);
    const auto waited_us = static_cast<std::uint64_t>(waited_ns / 1000);
    ++times.receives;
    times.done_ns += static_cast<std::uint64_t>(done_ns + _offset_ns);
    times.waited_ns += static_cast<std::uint64_t>(waited_ns);
    times.squares += waited_us * waited_us;
    times.bytes += static_cast<std::uint64_t>(bytes);
  }
  /// Compares the clocks of this host once more.
  void calibrate() { _clock.calibrate(); }

private:
  static std::size_t place(std::int32_t host, std::int32_t step) {
    return static_cast<std::size_t>(host) * PairTimes::classes +
           static_cast<std::size_t>(step) % PairTimes::classes;
  }

  std::vector<std::int32_t> _hosts;
  std::int32_t _own;
  std::int64_t _offset_ns;
  Calibration _clock;
  std::span<PairTimes> _outgoing, _incoming;
};

} // namespace thalweg::runtime::observe
