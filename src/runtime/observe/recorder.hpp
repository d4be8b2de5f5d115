#pragma once

#include "runtime/observe/clock.hpp"
#include "runtime/observe/event.hpp"
#include "runtime/observe/tally.hpp"

#include <cstdlib>
#include <memory>
#include <string>

namespace thalweg::runtime::observe {

/// Keeps the last events of this process in a ring of fixed size. Recording is thread-safe and
/// costs a few nanoseconds besides taking the time.
class Recorder {
public:
  /// `capacity`: events kept, a power of two. Memory is touched as it is used.
  explicit Recorder(std::size_t capacity = std::size_t{1} << 16);

  void add(const TransferEvent& event) { next().transfer = event; }
  void add(const CallEvent& event) { next().call = event; }
  /// Returns a number for a call: 0, 1, ...
  std::uint32_t begin_call() { return _calls.add(1); }

  /// Returns the clock, calibrated until now.
  const Calibration& clock() {
    _calibration.calibrate();
    return _calibration;
  }
  /// Writes the events to `path`, oldest first. Returns nothing, or what went wrong.
  [[nodiscard]] std::string write(const std::string& path, int world_rank, int world_size);

private:
  Event& next() { return _events.get()[_count.add(1) & (_capacity - 1)]; }
  struct Free {
    void operator()(Event* events) const { std::free(events); }
  };
  std::size_t _capacity;
  std::unique_ptr<Event, Free> _events;
  Tally<std::uint64_t> _count;
  Tally<std::uint32_t> _calls;
  Calibration _calibration;
};

/// Records the transfers of one call; empty: records nothing.
struct TransferLog {
  Recorder* recorder = nullptr;
  const int* world_ranks = nullptr; ///< of the communicator's ranks
  TransferEvent common;             ///< collective, call and tag

  [[nodiscard]] bool enabled() const { return recorder != nullptr; }
  [[nodiscard]] Ticks now() const { return enabled() ? observe::now() : 0; }
  /// Adds `event`, whose peer is a rank of the communicator, with the common fields, as applied
  /// now.
  void add(TransferEvent event) const {
    event.collective = common.collective;
    event.call = common.call;
    event.tag = common.tag;
    event.peer = world_ranks[event.peer];
    event.applied = event.direction == 0 ? event.done : observe::now();
    recorder->add(event);
  }
};

} // namespace thalweg::runtime::observe
