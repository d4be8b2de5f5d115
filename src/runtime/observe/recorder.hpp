#pragma once

#include "runtime/observe/event.hpp"
#include "runtime/observe/links.hpp"
#include "runtime/observe/mapped_file.hpp"
#include "runtime/observe/pair_times.hpp"
#include "runtime/observe/record_file.hpp"
#include "runtime/observe/tally.hpp"

#include <mutex>
#include <string>

namespace thalweg::runtime::observe {

/// Keeps the last events of this process in a file, a ring of limited size: what is there outlives
/// the process. Recording is thread-safe and costs a few nanoseconds besides taking the time.
class Recorder {
public:
  /// The most bytes of a file that is to keep all events.
  static constexpr std::size_t all = std::size_t{1} << 36;

  /// Begins to record in the file `path`. Call it once, before anything else. Returns nothing, or
  /// why it can't be.
  /// @param most bytes of events; at least one event is kept
  [[nodiscard]] std::string open(const std::string& path, const Identity& identity,
                                 std::size_t most);
  [[nodiscard]] bool is_open() const { return _events != nullptr; }

  void add(const TransferEvent& event) { write(&event); }
  void add(const CallEvent& event) { write(&event); }

  /// Requires is_open().
  void set_scale(const TickScale& scale) { header().scale = scale; }
  void set_clock(const ClockFit& clock);
  /// Returns why some events could not be kept; empty if all could that the ring has room for.
  [[nodiscard]] std::string problem() const { return _file.problem(); }

private:
  [[nodiscard]] FileHeader& header() const { return *reinterpret_cast<FileHeader*>(_file.data()); }
  void write(const void* event);
  std::uint64_t position_beyond(std::uint64_t number);

  MappedFile _file;
  std::byte* _events = nullptr;
  std::atomic<std::uint64_t>* _count = nullptr; ///< in the header
  std::atomic<std::uint64_t> _room{0};
  std::uint64_t _most = 0; ///< events
  std::mutex _mutex;       ///< of growth
};

/// Records the transfers of one call; empty: records nothing.
struct TransferLog {
  Recorder* recorder = nullptr;     ///< null: no events
  Links* links = nullptr;           ///< null: no link observations
  PairTimesLog* pairs = nullptr;    ///< null: no times between hosts
  const int* world_ranks = nullptr; ///< of the communicator's ranks; unless both of them are null
  TransferEvent common;             ///< collective, call and tag

  [[nodiscard]] bool enabled() const {
    return recorder != nullptr || links != nullptr || pairs != nullptr;
  }
  [[nodiscard]] Ticks now() const { return enabled() ? observe::now() : 0; }
  /// Adds `event`, whose peer is a rank of the communicator, with the common fields, as applied
  /// now.
  void add(TransferEvent event) const;
};

} // namespace thalweg::runtime::observe
