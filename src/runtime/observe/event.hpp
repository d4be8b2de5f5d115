#pragma once

#include "runtime/observe/clock.hpp"

#include <cstdint>

/// The records of a running program, and the file they are written to. docs/events-file.md
/// describes both; python/thalweg/events.py reads them.
namespace thalweg::runtime::observe {

inline constexpr char magic[8] = {'T', 'H', 'W', 'G', 'E', 'V', 'T', '1'};
inline constexpr std::uint32_t version = 2;

/// The unit of CallEvent::off_core.
inline constexpr std::int64_t off_core_ns = 10'000;

/// Readers skip kinds that they don't know. `nonblocking_call` is a CallEvent, too: of a
/// nonblocking call, or of a start of a persistent one, in whose time the program may do other
/// things.
enum class EventType : std::uint8_t { none = 0, transfer = 1, call = 2, nonblocking_call = 3 };

/// One message of a planned collective, at one end. Times are in ticks.
struct TransferEvent {
  EventType type = EventType::transfer;
  std::uint8_t direction = 0;  ///< 0 send, 1 receive, 2 local
  std::uint8_t collective = 0; ///< collective::Kind
  std::uint8_t how = 0;        ///< schedule::How
  std::uint32_t call = 0;      ///< CallEvent::call of the call it belongs to
  std::int32_t peer = 0;       ///< rank in COMM_WORLD
  std::int32_t step = 0, segment = 0;
  std::int32_t tag = 0;    ///< of the communicator
  std::int64_t size = 0;   ///< bytes of data
  std::int64_t posted = 0; ///< handed to the MPI library
  std::int64_t done = 0;   ///< seen to be complete
  std::int64_t applied =
      0; ///< in its place: later than `done` if it was combined or landed in scratch
  std::int64_t reserved = 0;
};

/// One call of an intercepted collective.
struct CallEvent {
  EventType type = EventType::call; ///< or nonblocking_call
  std::uint8_t collective = 0;      ///< Counted::number()
  std::uint8_t planned = 0;
  std::uint8_t reason = 0; ///< Reason: why it was native, unless it was planned
  std::uint32_t call = 0;  ///< counts the calls of this process
  std::int32_t root = 0;   ///< in the communicator
  std::int32_t ranks = 0;  ///< of the communicator
  std::int64_t size = 0;   ///< bytes of the vector or of a block
  std::int64_t enter = 0, exit = 0;
  std::int32_t tag = 0; ///< of the communicator; -1: it has none; less: hash of its members
  std::int32_t leader =
      0; ///< rank in COMM_WORLD of its rank 0; with the tag it names the communicator
  std::uint32_t sequence = 0;  ///< counts the calls on the communicator: equal on all its ranks
  std::uint16_t algorithm = 0; ///< 1 + index in algorithms::all(); 0: native
  std::uint16_t off_core =
      0; ///< units of off_core_ns in which the thread was put aside; at most 65535
  std::int32_t window = 0; ///< most messages in flight, sends and receives each; 0: native
  std::int32_t member = 0; ///< 1 + this process's rank in the communicator; 0: not known
};

union Event {
  EventType type;
  TransferEvent transfer;
  CallEvent call;
  Event() : type(EventType::none) {}
};

struct FileHeader {
  char magic[8]{};
  std::uint32_t record_size = 0, version = observe::version;
  std::int32_t world_rank = 0, world_size = 0;
  std::int64_t clock_offset_ns = 0; ///< added to a time, it gives about rank 0's clock; see `clock`
  std::uint64_t count = 0;          ///< events so far
  std::uint64_t room = 0;           ///< of the ring: event i is at position i modulo this number
  TickScale scale;                  ///< of the events' times
  ClockFit clock;
  std::uint64_t run = 0; ///< as in the run's other files; 0: there are none
};

static_assert(sizeof(TransferEvent) == 64 && sizeof(CallEvent) == 64 && sizeof(Event) == 64);
static_assert(sizeof(FileHeader) == 128);

} // namespace thalweg::runtime::observe
