#pragma once

#include "execution/executor.hpp"
#include "runtime/execute/places.hpp"
#include "runtime/execute/program.hpp"
#include "runtime/execute/scratch.hpp"
#include "runtime/execute/transport.hpp"
#include "runtime/observe/recorder.hpp"

#include <vector>

namespace thalweg::runtime {

/// The input of an execution besides the program and the transport.
struct Task {
  const Places* places = nullptr; ///< of register 0; bytes that no transfer writes aren't written
  UnitShape shape;
  int window = 8;           ///< sends in flight, and receives; at least 1
  observe::TransferLog log; ///< receives the events, if any are wanted
};

/// Executes one rank's part of a schedule by the rules of execution::Executor: posts its messages
/// to a transport, copies and combines. A message that arrives before it may be written, is to be
/// combined, or consists of several pieces first goes to scratch; data to send from several pieces
/// is packed there.
///
/// Not thread-safe; may be used again after finished(). After an exception from the transport,
/// which may still be writing to the scratch, it must be neither used nor destroyed.
class Execution {
public:
  /// Prepares and posts what can be posted. All arguments must outlive the execution.
  void start(const Program& program, const Layout& layout, const Task& task, Transport& transport);
  /// Reports a message that the transport has completed, in any order; then call advance().
  void complete(Transport::Token token);
  /// Carries out what completed messages made possible.
  void advance();
  [[nodiscard]] bool finished() const { return _executor.finished(); }

  /// Does all of the above until finished.
  void run(const Program& program, const Layout& layout, const Task& task, Transport& transport);
  /// Returns the bytes of scratch memory and of the operations' states.
  [[nodiscard]] std::int64_t kept() const { return _executor.kept() + _scratch.kept(); }
  /// Frees that memory until at most `bytes` are kept. Requires finished().
  void shrink(std::int64_t bytes);

private:
  using Item = execution::Item;
  using FlightId = std::int32_t;
  /// An operation that is posted and not complete.
  struct Flight {
    Item item;
    Scratch::Index scratch = Scratch::none;
    bool in_place = false; ///< its data needn't be brought there any more
    std::int64_t units = 0;
    std::vector<Interval> intervals;
    observe::Ticks posted{}, completed{};
  };

  Flight& flight(FlightId id) { return _flights[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Transfer& transfer(Item item) const {
    return _program->transfers()[static_cast<std::size_t>(item.operation)];
  }
  [[nodiscard]] std::byte* place(Reg reg, std::int64_t unit) {
    return reg == 0 ? _task.places->address(unit) : _registers[reg] + unit * _task.shape.extent;
  }
  [[nodiscard]] bool is_empty(Item item) const;
  void carry_out_posts();
  FlightId take_off(Item item);
  void post_send(Item item);
  void post_receive(const execution::Executor::Post& post);
  void read(const execution::Executor::Post& post);
  void write(Item item);
  void pack(Flight& flight);
  void unpack(Flight& flight);
  void put(How how, std::byte* incoming, std::byte* present, std::int64_t units);
  void land(FlightId id);

  const Program* _program = nullptr;
  const Layout* _layout = nullptr;
  Transport* _transport = nullptr;
  Task _task;
  execution::Executor _executor;
  Scratch _scratch;
  std::vector<std::byte*> _registers; ///< addresses of their unit 0; null for register 0
  std::vector<Flight> _flights;
  std::vector<FlightId> _free; ///< of _flights
};

} // namespace thalweg::runtime
