#pragma once

#include "runtime/execute/places.hpp"
#include "runtime/execute/program.hpp"
#include "runtime/execute/scratch.hpp"
#include "runtime/execute/transport.hpp"
#include "runtime/observe/recorder.hpp"

#include <vector>

namespace thalweg::runtime {

/// What an execution needs besides the program and the transport.
struct Task {
  const Places* places = nullptr; ///< of register 0; what no transfer writes isn't written to
  UnitShape shape;
  int window = 8;           ///< sends in flight, and receives; at least 1
  bool synchronous = false; ///< the last message to each peer is sent synchronously
  observe::TransferLog log; ///< where the events go, if anywhere
};

/// Executes one rank's part of a schedule.
///
/// Transfers enter a window in the order that all ranks keep, and the window is contiguous from the
/// lowest incomplete message on. Receives are posted as they enter; sends once what they read is
/// there, in order per receiver. So the globally lowest incomplete message is always posted at both
/// ends, and the execution can't deadlock whatever the transport buffers, and whatever the windows
/// of the ranks. What arrives before it may be written, is to be combined, or lies in several
/// pieces lands in scratch first.
///
/// Not thread-safe; may be used again after finished(). After an exception from the transport,
/// which may still be writing to the scratch, it must be neither used nor destroyed.
class Execution {
public:
  /// Prepares and posts what can be posted. All arguments must outlive the execution.
  void start(const Program& program, const Layout& layout, const Task& task, Transport& transport);
  /// To be called for each message that the transport has completed, in any order, then advance().
  void complete(Transport::Token token);
  /// Does what completed messages made possible.
  void advance();
  [[nodiscard]] bool finished() const { return _base == _next && _expansion.done(); }

  /// All of the above, until finished.
  void run(const Program& program, const Layout& layout, const Task& task, Transport& transport);
  /// Frees scratch memory beyond `bytes`. Requires finished().
  void shrink(std::int64_t bytes) { _scratch.shrink(bytes); }

private:
  /// waiting: a send that isn't posted, or a local transfer that hasn't read. arrived: in scratch,
  /// not yet written to its place.
  enum class State : std::uint8_t { waiting, posted, arrived, done };
  struct Flight {
    const OwnTransfer* transfer = nullptr;
    std::int64_t at = 0;
    std::int32_t segment = 0;
    State state = State::done;
    Scratch::Index scratch = Scratch::none;
    std::int64_t units = 0;
    std::vector<Interval> intervals;
    observe::Ticks posted{}, completed{};
  };

  Flight& flight(std::int64_t position) {
    return _flights[static_cast<std::size_t>(position) & (_flights.size() - 1)];
  }
  [[nodiscard]] std::byte* place(Reg reg, std::int64_t unit) {
    return reg == 0 ? _task.places->address(unit) : _registers[reg] + unit * _task.shape.extent;
  }
  bool admit();
  bool progress();
  bool move(std::int64_t position);
  void post_send(Flight& flight, std::int64_t position);
  void post_receive(Flight& flight, std::int64_t position);
  void read(Flight& flight);
  void write(Flight& flight);
  void finish(Flight& flight);
  void grow();
  [[nodiscard]] static bool is_open(const Flight& flight);
  [[nodiscard]] bool read_blocked(std::int64_t position);
  [[nodiscard]] bool write_blocked(std::int64_t position);
  [[nodiscard]] bool send_blocked(std::int64_t position);

  const Program* _program = nullptr;
  const Layout* _layout = nullptr;
  Transport* _transport = nullptr;
  Task _task;
  Expansion _expansion;
  Scratch _scratch;
  std::vector<std::byte*> _registers; ///< addresses of their unit 0; of register 0 null
  std::vector<Flight> _flights = std::vector<Flight>(64); ///< a ring; its size is a power of two
  std::int64_t _base = 0, _next = 0;                      ///< positions of the flights in the ring
  std::int64_t _lowest = 0;          ///< position of the lowest incomplete message
  std::int64_t _longest_window = 64; ///< so that a slow receiver doesn't let the ring grow for ever
  int _sends = 0, _receives = 0;     ///< in the window and incomplete
  int _undecided = 0;                ///< flights that are waiting or arrived
};

} // namespace thalweg::runtime
