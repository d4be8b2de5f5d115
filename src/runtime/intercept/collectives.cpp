#include "runtime/intercept/collectives.hpp"

#include "runtime/execute/execution.hpp"
#include "runtime/execute/mpi_transport.hpp"
#include "runtime/intercept/datatype.hpp"
#include "runtime/intercept/engine.hpp"
#include "runtime/intercept/ops.hpp"
#include "runtime/intercept/runtime.hpp"

#include <cstring>
#include <memory>
#include <new>

namespace thalweg::runtime {
namespace {

using collective::Kind;

/// Of the planned rooted calls on a communicator, each of this number ends with synchronous sends,
/// so that a root can't run ahead of the others for ever.
constexpr std::uint32_t synchronise_every = 8;

/// The event of a call, from its entry on.
class CallRecord {
public:
  CallRecord(Runtime& runtime, Kind kind) : _runtime(runtime) {
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
    _runtime.counters.count(static_cast<Kind>(event.collective), reason, event.size);
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
  task.window = runtime.settings.window;
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

void run_allreduce(Runtime& runtime, Communicator& communicator, const AllreduceCall& call,
                   const TypeInfo& info, const Prepared& prepared, const CallRecord& record) {
  Engine engine;
  MpiTransport::Setup setup = make_setup(runtime, communicator);
  setup.type = call.type;
  setup.op = call.op;
  setup.shape = info.shape;
  setup.contiguous = info.contiguous;
  auto* data = static_cast<std::byte*>(call.receive);
  if (call.send != MPI_IN_PLACE)
    engine.copy(static_cast<const std::byte*>(call.send), data, call.count, setup);
  engine.run(prepared, make_task(runtime, communicator, record, data, info.shape), setup);
}

/// Why an allreduce can't be planned whatever the plan says. Fills `info`.
Reason check_allreduce(const Runtime& runtime, const AllreduceCall& call, TypeInfo& info) {
  const Reason data = check_data(call.receive, call.count, call.type, info);
  if (data != Reason::planned) return data;
  if (call.send == call.receive || (call.send == nullptr && info.predefined))
    return Reason::arguments;
  if (!runtime.active()) return Reason::planned;
  if (info.shape.extent < info.shape.true_extent) return Reason::datatype;
  return may_reduce(call.op, call.type, info.predefined, runtime.self) ? Reason::planned
                                                                       : Reason::op;
}

} // namespace

int bcast(const BcastCall& call, NativeCall execute_natively) {
  Runtime* const it = runtime;
  if (it == nullptr) return execute_natively();
  CallRecord record(*it, Kind::bcast);
  record.event.root = call.root;
  Communicator* const communicator = it->communicators.find(call.comm);
  if (communicator == nullptr || communicator->reason == Reason::intercommunicator) {
    const int code = execute_natively();
    record.finish(communicator != nullptr ? communicator->reason : Reason::not_set_up,
                  communicator);
    return code;
  }
  record.event.sequence = communicator->calls++;
  TypeInfo info;
  Reason reason = call.root < 0 || call.root >= communicator->size
                      ? Reason::arguments
                      : check_data(call.buffer, call.count, call.type, info);
  const Prepared* prepared = nullptr;
  if (reason == Reason::planned) {
    record.event.size = call.count * info.shape.bytes;
    const auto choice =
        choose(*it, *communicator, Kind::bcast, call.root, record.event.size, record.event.size);
    prepared = choice.prepared;
    reason = choice.reason;
  }
  int code = MPI_SUCCESS;
  if (prepared != nullptr) {
    record.event.algorithm = prepared->algorithm;
    code =
        guarded(call.comm, [&] { run_bcast(*it, *communicator, call, info, *prepared, record); });
  } else {
    code = execute_natively();
  }
  record.finish(reason, communicator);
  return code;
}

int allreduce(const AllreduceCall& call, NativeCall execute_natively) {
  Runtime* const it = runtime;
  if (it == nullptr) return execute_natively();
  CallRecord record(*it, Kind::allreduce);
  Communicator* communicator = it->communicators.find(call.comm);
  if (communicator == nullptr || communicator->reason == Reason::intercommunicator) {
    const int code = execute_natively();
    record.finish(communicator != nullptr ? communicator->reason : Reason::not_set_up,
                  communicator);
    // No member can have left before all were here, if there was data: all are here to set up.
    if (communicator == nullptr && code == MPI_SUCCESS && call.count > 0)
      it->communicators.set_up(call.comm, *it);
    return code;
  }
  record.event.sequence = communicator->calls++;
  TypeInfo info;
  Reason reason = check_allreduce(*it, call, info);
  const Prepared* prepared = nullptr;
  if (reason == Reason::planned || reason == Reason::op || reason == Reason::datatype)
    record.event.size = call.count * info.shape.bytes;
  if (reason == Reason::planned) {
    const auto choice =
        choose(*it, *communicator, Kind::allreduce, 0, record.event.size, call.count);
    prepared = choice.prepared;
    reason = choice.reason;
  }
  int code = MPI_SUCCESS;
  if (prepared != nullptr) {
    record.event.algorithm = prepared->algorithm;
    code = guarded(call.comm,
                   [&] { run_allreduce(*it, *communicator, call, info, *prepared, record); });
  } else {
    code = execute_natively();
  }
  record.finish(reason, communicator);
  return code;
}

void set_up(MPI_Comm comm) {
  Runtime* const it = runtime;
  if (it != nullptr && comm != native.comm_null) it->communicators.set_up(comm, *it);
}

} // namespace thalweg::runtime
