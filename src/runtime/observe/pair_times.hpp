#pragma once

#include "collective/collective.hpp"
#include "runtime/observe/clock.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace thalweg::runtime::observe {

/// The messages of a class from one host to another, summed up by their receivers.
struct PairTimes {
  std::uint64_t receives = 0;
  std::uint64_t waited_ns = 0; ///< from the post of the receive until it was complete
  static constexpr std::size_t fields = 2;
  /// Messages of different steps of a schedule are summed up apart, as far as there are classes:
  /// in one step the receiver may wait for the sender, and in another the sender for the receiver.
  static constexpr std::size_t classes = 7;
};
static_assert(sizeof(PairTimes) == PairTimes::fields * sizeof(std::uint64_t));

/// Adds up what one rank knows of the messages that it receives in a communicator, by host of the
/// sender. A message costs some nanoseconds besides taking the time.
class PairTimesLog {
public:
  /// @param hosts number of the host of each rank of the communicator
  PairTimesLog(std::vector<std::int32_t> hosts, collective::Rank rank)
      : _hosts(std::move(hosts)), _own(_hosts[static_cast<std::size_t>(rank)]) {}
  /// Counts from now on in `incoming`, which has an entry per host and class.
  void count_in(std::span<PairTimes> incoming) { _incoming = incoming; }
  void received(collective::Rank from, std::int32_t step, Ticks posted, Ticks done) {
    const std::int32_t host = _hosts[static_cast<std::size_t>(from)];
    if (host == _own) return;
    PairTimes& times = _incoming[static_cast<std::size_t>(host) * PairTimes::classes +
                                 static_cast<std::size_t>(step) % PairTimes::classes];
    ++times.receives;
    times.waited_ns += static_cast<std::uint64_t>(_clock.to_ns(done) - _clock.to_ns(posted));
  }
  /// Compares the clocks of this host once more, if they have run for twice as long as the last
  /// time, which makes their scale twice as exact. Reads a clock otherwise.
  void calibrate() {
    const Ticks age = now() - _begun;
    if (age < 2 * _calibrated) return;
    _clock.calibrate();
    _calibrated = age;
  }

private:
  std::vector<std::int32_t> _hosts;
  std::int32_t _own;
  Calibration _clock;
  Ticks _begun = now(), _calibrated = 0; ///< when, and at what age the clocks were compared last
  std::span<PairTimes> _incoming;
};

} // namespace thalweg::runtime::observe
