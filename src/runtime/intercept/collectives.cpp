#include "runtime/intercept/collectives.hpp"

#include "runtime/choose/reproducible.hpp"
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
    _runtime.counters.count(kind(), reason,
                            {.bytes = event.size,
                             .time = event.exit - event.enter,
                             .native_ns = prediction.native_ns,
                             .bound_ns = prediction.bound_ns});
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
  Prediction prediction;

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
  // One thread calls in the same order on any two ranks, which is the order of their messages.
  setup.tag = data_tag(runtime.multiple_threads ? communicator.tag : 0);
  setup.accounts = communicator.accounts.get();
  setup.ranks = communicator.world_ranks.data();
  Task task;
  task.window = record.event.window;
  task.log = record.log(communicator);
  Transaction(call, arguments, prepared, setup).run(task);
}

/// Says what was decided, as far as it is wanted.
void report(Runtime& runtime, const Communicator& communicator, const Shape& shape,
            const Chooser::Decision& choice) {
  const bool leads = communicator.rank == 0;
  if (choice.refusal != nullptr) runtime.notices.add(*choice.refusal, runtime.world_rank, leads);
  if (!runtime.settings.verbose || runtime.world_rank != 0) return;
  std::string text =
      std::string(to_text(shape.kind)) + " of " + std::to_string(communicator.size) + " ranks";
  if (collective::is_rooted(shape.kind)) text += ", root " + std::to_string(shape.root);
  text += ": " + (choice.prepared != nullptr
                      ? choice.prepared->description
                      : "native (" + std::string(units::name_of(*choice.reason)) + ")");
  runtime.notices.add({.key = text, .text = text}, runtime.world_rank, leads);
}

/// Says that a reduction wasn't reproducible, if that was wanted.
void report_native(Runtime& runtime, const Communicator& communicator, Kind kind, Reason reason) {
  if (!runtime.settings.reproducible || !depends_on_order(kind)) return;
  if (reason == Reason::empty || reason == Reason::arguments || reason == Reason::single_rank)
    return;
  const std::string name(units::name_of(reason));
  runtime.notices.add({.key = "THALWEG_REPRODUCIBLE " + name,
                       .text = "THALWEG_REPRODUCIBLE: a native " + std::string(to_text(kind)) +
                               " may differ between runs; the reason is " + name},
                      runtime.world_rank, communicator.rank == 0);
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
    record.prediction = choice.prediction;
    if (choice.is_new) report(runtime, communicator, arguments.shape, choice);
    if (choice.prepared == nullptr) return;
    record.plan(*choice.prepared);
    run(runtime, communicator, call, arguments, *choice.prepared, record);
  });
  if (code == MPI_SUCCESS && choice.prepared == nullptr) code = execute_natively();
  record.finish(choice.reason, &communicator);
  if (choice.reason) report_native(runtime, communicator, call.kind, *choice.reason);
  return code;
}

/// Lets the ranks of a communicator that isn't set up agree on it, if it is time for that.
/// @param code of the call, which has been executed natively
int negotiate(Runtime& runtime, Communicator& communicator, const Call& call, int code) {
  if (communicator.negotiation == nullptr || code != MPI_SUCCESS) return code;
  return guarded(call.comm, [&] {
    const Arguments arguments = examine(call, communicator, runtime);
    const std::int64_t cost_ns = arguments.reason
                                     ? 0
                                     : call_cost_ns(call.kind, communicator.size,
                                                    arguments.shape.size, runtime.slowest_path);
    communicator.negotiation->after_call(communicator.calls, cost_ns, waits_for_all(call));
  });
}

/// Executes natively on a communicator that isn't set up. It is looked at only once a call of it
/// has succeeded: the handle may be wrong, which the MPI library reports.
/// @param communicator null at its first call
int execute_apart(Runtime& runtime, Communicator* communicator, const Call& call,
                  CallRecord& record, NativeCall execute_natively) {
  const auto reason = communicator != nullptr ? communicator->reason : std::nullopt;
  const int code = execute_natively();
  if (communicator != nullptr && reason) report_native(runtime, *communicator, call.kind, *reason);
  if (communicator == nullptr && code == MPI_SUCCESS) {
    communicator = &runtime.communicators.add(call.comm, runtime);
    record.event.sequence = communicator->calls++;
    record.finish(communicator->reason, communicator);
  } else {
    record.finish(reason ? reason : Reason::not_set_up, communicator);
  }
  return communicator != nullptr ? negotiate(runtime, *communicator, call, code) : code;
}

/// Ends what the ranks began to agree on enough calls ago.
int go_on_negotiating(Communicator& communicator, const Call& call) {
  return guarded(call.comm, [&] { communicator.negotiation->before_call(communicator.calls); });
}

} // namespace

int execute(const Call& call, NativeCall execute_natively) {
  Runtime* const it = runtime;
  if (it == nullptr) return execute_natively();
  CallRecord record(*it, call.kind, collective::is_rooted(call.kind) ? call.root : 0);
  Communicator* communicator = it->communicators.find(call.comm);
  if (communicator == nullptr && it->active() && it->settings.reproducible)
    communicator = &it->communicators.add(call.comm, *it);
  if (communicator == nullptr) return execute_apart(*it, nullptr, call, record, execute_natively);
  record.event.sequence = communicator->calls++;
  if (communicator->negotiation != nullptr) {
    if (const int code = go_on_negotiating(*communicator, call); code != MPI_SUCCESS) return code;
    if (communicator->negotiation->done()) communicator->negotiation.reset();
  }
  if (communicator->negotiation != nullptr || communicator->reason == Reason::intercommunicator)
    return execute_apart(*it, communicator, call, record, execute_natively);
  return execute_known(*it, *communicator, call, record, execute_natively);
}

void leave(MPI_Comm comm) {
  Runtime* const it = runtime;
  if (it != nullptr) it->communicators.leave(comm);
}

} // namespace thalweg::runtime
