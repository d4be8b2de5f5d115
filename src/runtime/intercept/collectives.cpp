#include "runtime/intercept/collectives.hpp"

#include "runtime/execute/execution.hpp"
#include "runtime/execute/mpi_transport.hpp"
#include "runtime/intercept/datatype.hpp"
#include "runtime/intercept/engine.hpp"
#include "runtime/intercept/ops.hpp"
#include "runtime/intercept/runtime.hpp"

#include <memory>
#include <new>
#include <optional>

namespace thalweg::runtime {
namespace {

using collective::Kind;

/// Of the planned rooted calls on a communicator, each of this number ends with synchronous sends,
/// so that a root can't run ahead of the others for ever.
constexpr std::uint32_t synchronise_every = 8;

/// The event of a call, from its entry on.
class CallRecord {
public:
  CallRecord(Runtime& runtime, Kind kind, int root) : _runtime(runtime) {
    event.root = root;
    event.collective = static_cast<std::uint8_t>(kind);
    event.call = runtime.recorder.begin_call();
    event.tag = event.leader = -1;
    event.enter = observe::now();
  }
  /// `communicator` may be null.
  void finish(Reason reason, const Communicator* communicator) {
    event.exit = observe::now();
    event.planned = reason == Reason::planned ? 1 : 0;
    event.reason = static_cast<std::uint8_t>(reason);
    if (communicator != nullptr) {
      event.ranks = communicator->size;
      event.tag = communicator->tag;
      event.leader = communicator->leader();
    }
    _runtime.recorder.add(event);
    _runtime.counters.count(kind(), reason, event.size);
  }
  [[nodiscard]] Kind kind() const { return static_cast<Kind>(event.collective); }
  /// Says how the call is executed.
  void plan(const Prepared& prepared) {
    event.algorithm = prepared.algorithm;
    event.window = prepared.pipeline.window_within(_runtime.settings.window);
  }
  observe::CallEvent event;

private:
  Runtime& _runtime;
};

/// The plan for a call on a communicator that is set up, or why it is native.
Chooser::Choice choose(Runtime& runtime, Communicator& communicator, Kind kind, int root,
                       MPI_Count bytes, MPI_Count units) {
  if (communicator.reason != Reason::planned) return {nullptr, communicator.reason};
  return communicator.chooser->choose(
      {.kind = kind, .ranks = communicator.size, .root = root, .size = bytes, .in_place = false},
      units, runtime.force, runtime.force_version);
}

Task make_task(Runtime& runtime, const Communicator& communicator, const CallRecord& record,
               std::byte* data, const UnitShape& shape) {
  Task task;
  task.data = data;
  task.shape = shape;
  task.window = record.event.window;
  task.log.recorder = &runtime.recorder;
  task.log.world_ranks = communicator.world_ranks.data();
  task.log.common.collective = record.event.collective;
  task.log.common.call = record.event.call;
  task.log.common.tag = communicator.tag;
  return task;
}

MpiTransport::Setup make_setup(const Runtime& runtime, const Communicator& communicator) {
  MpiTransport::Setup setup;
  setup.comm = runtime.shadow;
  setup.tag = communicator.tag;
  setup.ranks = communicator.world_ranks.data();
  return setup;
}

/// Calls `body`; what goes wrong in it goes to the error handler of the program's communicator.
template <class Body>
int guarded(MPI_Comm comm, const Body& body) {
  int code = MPI_SUCCESS;
  try {
    body();
    return MPI_SUCCESS;
  } catch (const MpiError& error) {
    code = error.code;
  } catch (const std::bad_alloc&) {
    code = MPI_ERR_NO_MEM;
  } catch (const std::exception&) { // a length that no memory has
    code = MPI_ERR_OTHER;
  }
  native.Comm_call_errhandler(comm, code);
  return code;
}

void check(int code) {
  if (code != MPI_SUCCESS) throw MpiError{code};
}

/// Bytes of the call's data, or Reason::arguments or empty in `reason`.
Reason check_data(const void* buffer, MPI_Count count, MPI_Datatype type, TypeInfo& info) {
  if (count < 0 || type == native.datatype_null || buffer == MPI_IN_PLACE) return Reason::arguments;
  info = inspect(type);
  if (count == 0 || info.shape.bytes <= 0) return Reason::empty;
  if (buffer == nullptr && info.predefined) return Reason::arguments;
  return Reason::planned;
}

void run_bcast(Runtime& runtime, Communicator& communicator, const BcastCall& call,
               const TypeInfo& info, const Prepared& prepared, const CallRecord& record) {
  Engine engine;
  MpiTransport::Setup setup = make_setup(runtime, communicator);
  setup.type = native.byte;
  auto* data = static_cast<std::byte*>(call.buffer);
  const bool is_root = communicator.rank == call.root;
  std::unique_ptr<std::byte[]> packed;
  if (!info.contiguous) {
    packed.reset(new std::byte[static_cast<std::size_t>(record.event.size)]);
    data = packed.get();
    if (is_root) check(pack(call.buffer, call.count, call.type, info, data, runtime.shadow));
  }
  Task task = make_task(runtime, communicator, record, data, {});
  task.synchronous = ++communicator.rooted_calls % synchronise_every == 0;
  engine.run(prepared, task, setup);
  if (!info.contiguous && !is_root)
    check(unpack(data, call.buffer, call.count, call.type, info, runtime.shadow));
}

void set_operands(MpiTransport::Setup& setup, MPI_Datatype type, MPI_Op op, const TypeInfo& info) {
  setup.type = type;
  setup.op = op;
  setup.shape = info.shape;
  setup.contiguous = info.contiguous;
}

void run_allreduce(Runtime& runtime, Communicator& communicator, const AllreduceCall& call,
                   const TypeInfo& info, const Prepared& prepared, const CallRecord& record) {
  Engine engine;
  MpiTransport::Setup setup = make_setup(runtime, communicator);
  set_operands(setup, call.type, call.op, info);
  auto* data = static_cast<std::byte*>(call.receive);
  if (call.send != MPI_IN_PLACE)
    engine.copy(static_cast<const std::byte*>(call.send), data, call.count, setup);
  engine.run(prepared, make_task(runtime, communicator, record, data, info.shape), setup);
}

/// Where a rank other than the root combines: its receive buffer means nothing.
class Partial {
public:
  Partial(MPI_Count count, const UnitShape& shape)
      : _memory(new std::byte[static_cast<std::size_t>((count - 1) * shape.extent +
                                                       shape.true_extent)]),
        _data(_memory.get() - shape.true_lower_bound) {}
  [[nodiscard]] std::byte* data() const { return _data; }

private:
  std::unique_ptr<std::byte[]> _memory;
  std::byte* _data; ///< the address of unit 0
};

void run_reduce(Runtime& runtime, Communicator& communicator, const ReduceCall& call,
                const TypeInfo& info, const Prepared& prepared, const CallRecord& record) {
  Engine engine;
  MpiTransport::Setup setup = make_setup(runtime, communicator);
  set_operands(setup, call.type, call.op, info);
  std::optional<Partial> partial;
  if (communicator.rank != call.root) partial.emplace(call.count, info.shape);
  auto* data = partial ? partial->data() : static_cast<std::byte*>(call.receive);
  if (call.send != MPI_IN_PLACE)
    engine.copy(static_cast<const std::byte*>(call.send), data, call.count, setup);
  Task task = make_task(runtime, communicator, record, data, info.shape);
  task.synchronous = ++communicator.rooted_calls % synchronise_every == 0;
  engine.run(prepared, task, setup);
}

/// Why a reduction of what `data` holds can't be planned whatever the plan says. Fills `info`.
Reason check_operands(const Runtime& runtime, const void* data, MPI_Count count, MPI_Datatype type,
                      MPI_Op op, TypeInfo& info) {
  const Reason reason = check_data(data, count, type, info);
  if (reason != Reason::planned || !runtime.active()) return reason;
  if (info.shape.extent < info.shape.true_extent) return Reason::datatype;
  return may_reduce(op, type, info.predefined, runtime.self) ? Reason::planned : Reason::op;
}

Reason check_allreduce(const Runtime& runtime, const AllreduceCall& call, TypeInfo& info) {
  const Reason reason = check_operands(runtime, call.receive, call.count, call.type, call.op, info);
  const bool wrong_send = call.send == call.receive || (call.send == nullptr && info.predefined);
  return reason != Reason::arguments && reason != Reason::empty && wrong_send ? Reason::arguments
                                                                              : reason;
}

Reason check_reduce(const Runtime& runtime, const Communicator& communicator,
                    const ReduceCall& call, TypeInfo& info) {
  if (call.root < 0 || call.root >= communicator.size) return Reason::arguments;
  if (communicator.rank != call.root)
    return check_operands(runtime, call.send, call.count, call.type, call.op, info);
  return check_allreduce(
      runtime, {call.send, call.receive, call.count, call.type, call.op, call.comm}, info);
}

/// Whether a size is known, though the call may be native for another reason.
bool has_size(Reason reason) {
  return reason == Reason::planned || reason == Reason::op || reason == Reason::datatype;
}

/// Executes a call on a communicator that is set up: as planned if neither `reason` nor the plan
/// says otherwise. `units`: bytes or elements that a segment mustn't cut.
template <class Run>
int execute(Runtime& runtime, Communicator& communicator, MPI_Comm comm, CallRecord& record,
            Reason reason, MPI_Count units, const Run& run, NativeCall execute_natively) {
  Chooser::Choice choice{nullptr, reason};
  int code = guarded(comm, [&] {
    if (reason != Reason::planned) return;
    choice =
        choose(runtime, communicator, record.kind(), record.event.root, record.event.size, units);
    if (choice.prepared == nullptr) return;
    record.plan(*choice.prepared);
    run(*choice.prepared);
  });
  if (code == MPI_SUCCESS && choice.prepared == nullptr) code = execute_natively();
  record.finish(choice.reason, &communicator);
  return code;
}

/// Natively on a communicator that isn't set up. Such calls have no plan, and none is made.
int execute_apart(CallRecord& record, const Communicator* communicator,
                  NativeCall execute_natively) {
  const int code = execute_natively();
  record.finish(communicator != nullptr ? communicator->reason : Reason::not_set_up, communicator);
  return code;
}

bool is_apart(const Communicator* communicator) {
  return communicator == nullptr || communicator->reason == Reason::intercommunicator;
}

} // namespace

int bcast(const BcastCall& call, NativeCall execute_natively) {
  Runtime* const it = runtime;
  if (it == nullptr) return execute_natively();
  CallRecord record(*it, Kind::bcast, call.root);
  Communicator* const communicator = it->communicators.find(call.comm);
  if (is_apart(communicator)) return execute_apart(record, communicator, execute_natively);
  record.event.sequence = communicator->calls++;
  TypeInfo info;
  const Reason reason = call.root < 0 || call.root >= communicator->size
                            ? Reason::arguments
                            : check_data(call.buffer, call.count, call.type, info);
  if (has_size(reason)) record.event.size = call.count * info.shape.bytes;
  return execute(
      *it, *communicator, call.comm, record, reason, record.event.size,
      [&](const Prepared& plan) { run_bcast(*it, *communicator, call, info, plan, record); },
      execute_natively);
}

int reduce(const ReduceCall& call, NativeCall execute_natively) {
  Runtime* const it = runtime;
  if (it == nullptr) return execute_natively();
  CallRecord record(*it, Kind::reduce, call.root);
  Communicator* const communicator = it->communicators.find(call.comm);
  if (is_apart(communicator)) return execute_apart(record, communicator, execute_natively);
  record.event.sequence = communicator->calls++;
  TypeInfo info;
  const Reason reason = check_reduce(*it, *communicator, call, info);
  if (has_size(reason)) record.event.size = call.count * info.shape.bytes;
  return execute(
      *it, *communicator, call.comm, record, reason, call.count,
      [&](const Prepared& plan) { run_reduce(*it, *communicator, call, info, plan, record); },
      execute_natively);
}

int allreduce(const AllreduceCall& call, NativeCall execute_natively) {
  Runtime* const it = runtime;
  if (it == nullptr) return execute_natively();
  CallRecord record(*it, Kind::allreduce, 0);
  Communicator* const communicator = it->communicators.find(call.comm);
  if (is_apart(communicator)) {
    const int code = execute_apart(record, communicator, execute_natively);
    // No member can have left before all were here, if there was data: all are here to set up.
    if (communicator == nullptr && code == MPI_SUCCESS && call.count > 0)
      it->communicators.set_up(call.comm, *it);
    return code;
  }
  record.event.sequence = communicator->calls++;
  TypeInfo info;
  const Reason reason = check_allreduce(*it, call, info);
  if (has_size(reason)) record.event.size = call.count * info.shape.bytes;
  return execute(
      *it, *communicator, call.comm, record, reason, call.count,
      [&](const Prepared& plan) { run_allreduce(*it, *communicator, call, info, plan, record); },
      execute_natively);
}

void set_up(MPI_Comm comm) {
  Runtime* const it = runtime;
  if (it != nullptr && comm != native.comm_null) it->communicators.set_up(comm, *it);
}

} // namespace thalweg::runtime
