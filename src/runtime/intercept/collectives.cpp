#include "runtime/intercept/collectives.hpp"

#include "runtime/intercept/arguments.hpp"
#include "runtime/intercept/transaction.hpp"
#include "runtime/setup/runtime.hpp"

#include <new>
#include <optional>

namespace thalweg::runtime {
namespace {

using collective::Kind;

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
  void finish(std::optional<Reason> reason, const Communicator* communicator) {
    event.exit = observe::now();
    event.planned = reason ? 0 : 1;
    event.reason = reason ? static_cast<std::uint8_t>(*reason) : 0;
    if (communicator != nullptr) {
      event.ranks = communicator->size;
      event.tag = communicator->tag;
      event.leader = communicator->leader();
    }
    _runtime.recorder.add(event);
    _runtime.counters.count(kind(), reason, event.size);
  }
  [[nodiscard]] Kind kind() const { return static_cast<Kind>(event.collective); }
  /// Records how the call is executed.
  void plan(const Prepared& prepared) {
    event.algorithm = prepared.algorithm;
    event.window = prepared.pipeline.window_within(_runtime.settings.window);
  }
  /// Returns the common part of the call's messages.
  [[nodiscard]] observe::TransferLog log(const Communicator& communicator) const {
    observe::TransferLog log;
    log.recorder = &_runtime.recorder;
    log.world_ranks = communicator.world_ranks.data();
    log.common.collective = event.collective;
    log.common.call = event.call;
    log.common.tag = communicator.tag;
    return log;
  }
  observe::CallEvent event;

private:
  Runtime& _runtime;
};

/// Calls `body`; passes its errors to the error handler of the program's communicator.
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
  } catch (const std::exception&) { // a length beyond any memory
    code = MPI_ERR_OTHER;
  }
  native.Comm_call_errhandler(comm, code);
  return code;
}

void run(Runtime& runtime, Communicator& communicator, const Call& call, const Arguments& arguments,
         const Prepared& prepared, const CallRecord& record) {
  MpiTransport::Setup setup;
  setup.comm = runtime.shadow;
  setup.tag = data_tag(communicator.tag);
  setup.accounts = communicator.accounts.get();
  setup.ranks = communicator.world_ranks.data();
  Task task;
  task.window = record.event.window;
  task.log = record.log(communicator);
  Transaction(call, arguments, prepared, setup).run(task);
}

/// Executes a call on a communicator that is set up.
int execute_known(Runtime& runtime, Communicator& communicator, const Call& call,
                  CallRecord& record, NativeCall execute_natively) {
  Chooser::Decision choice;
  int code = guarded(call.comm, [&] {
    const Arguments arguments = examine(call, communicator, runtime);
    record.event.size = arguments.size;
    choice.reason = arguments.reason ? arguments.reason : communicator.reason;
    if (choice.reason) return;
    choice = communicator.chooser->choose(arguments.shape, runtime.force, runtime.force_version);
    if (choice.refusal != nullptr)
      runtime.notices.add(*choice.refusal, runtime.world_rank, communicator.rank == 0);
    if (choice.prepared == nullptr) return;
    record.plan(*choice.prepared);
    run(runtime, communicator, call, arguments, *choice.prepared, record);
  });
  if (code == MPI_SUCCESS && choice.prepared == nullptr) code = execute_natively();
  record.finish(choice.reason, &communicator);
  return code;
}

/// Executes natively on a communicator that isn't set up. Such calls have no plan, and none is
/// made.
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

int execute(const Call& call, NativeCall execute_natively) {
  Runtime* const it = runtime;
  if (it == nullptr) return execute_natively();
  CallRecord record(*it, call.kind, collective::is_rooted(call.kind) ? call.root : 0);
  Communicator* const communicator = it->communicators.find(call.comm);
  if (is_apart(communicator)) {
    const int code = execute_apart(record, communicator, execute_natively);
    // Then all members are here to set up.
    if (communicator == nullptr && code == MPI_SUCCESS && waits_for_all(call))
      it->communicators.set_up(call.comm, *it);
    return code;
  }
  record.event.sequence = communicator->calls++;
  return execute_known(*it, *communicator, call, record, execute_natively);
}

void set_up(MPI_Comm comm) {
  Runtime* const it = runtime;
  if (it != nullptr && comm != native.comm_null) it->communicators.set_up(comm, *it);
}

} // namespace thalweg::runtime
