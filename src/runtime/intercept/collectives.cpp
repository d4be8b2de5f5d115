#include "runtime/intercept/collectives.hpp"

#include "runtime/choose/reproducible.hpp"
#include "runtime/intercept/record.hpp"
#include "runtime/intercept/transaction.hpp"

namespace thalweg::runtime {
namespace {

/// Ends the record of a call, and says so if it should have been reproducible and wasn't.
void finish(Runtime& runtime, const Communicator& communicator, const Call& call,
            CallRecord& record, int code) {
  if (code == MPI_SUCCESS) record.look_at(call);
  record.finish();
  if (record.reason) report_native(runtime, communicator, call.kind, *record.reason);
}

/// Says what came up while the ranks of a communicator agreed, if anything did.
void report(Runtime& runtime, const Communicator& communicator, const Adaptation::Said& said) {
  const bool leads = communicator.rank == 0;
  if (!said.of_races.empty())
    runtime.notices.add({.key = "race", .text = std::string(said.of_races)}, runtime.world_rank,
                        leads);
  if (!said.of_plans.empty())
    runtime.notices.add({.key = "replan " + said.of_plans, .text = said.of_plans},
                        runtime.world_rank, leads);
}

/// Does something by which ranks agree, and says what came up, also if it throws.
/// @param body gets the Adaptation::Said to fill
template <class Body>
void agree_by(Runtime& runtime, const Communicator& communicator, const Body& body) {
  Adaptation::Said said;
  try {
    body(said);
  } catch (const MpiError&) {
    report(runtime, communicator, said);
    throw;
  }
  report(runtime, communicator, said);
}

/// Lets the ranks agree on races and plans, as far as it is time for that.
void agree(Runtime& runtime, Communicator& communicator, const Call& call) {
  Adaptation* const adaptation = communicator.adaptation.get();
  if (adaptation == nullptr) return;
  agree_by(runtime, communicator, [&](Adaptation::Said& said) {
    adaptation->before_call(call.comm, *communicator.chooser, said);
  });
}

/// Whether a call may be executed otherwise than decided. The same on all ranks. Calls of one size
/// must be comparable, and their times tell when all ranks had entered: where blocks differ in
/// size, all ranks must know that all blocks have data.
bool may_race(const Runtime& runtime, const Call& call, const Shape& shape) {
  if (call.is_uneven() && !(shape.sizes_are_known && waits_for_all(call))) return false;
  if (runtime.force[shape.kind].what != Force::What::nothing) return false;
  return !(runtime.settings.reproducible && depends_on_order(shape.kind));
}

/// Returns the turn of a call in its race. The same on all ranks.
Adaptation::Turn turn_of(const Runtime& runtime, const Communicator& communicator, const Call& call,
                         const Shape& shape, const Chooser::Decision& choice) {
  Adaptation* const adaptation = communicator.adaptation.get();
  if (adaptation == nullptr || !adaptation->has_candidates(choice) ||
      !may_race(runtime, call, shape))
    return {};
  return adaptation->turn_of(shape, choice, [&] {
    return call_cost_ns(shape.kind, communicator.size, shape.size, runtime.slowest_path);
  });
}

/// Notes a call of a communicator whose plans may follow the network.
void note(const Communicator& communicator, const Arguments& arguments, bool is_planned) {
  if (communicator.adaptation == nullptr) return;
  const Shape& shape = arguments.shape;
  const bool has_root = shape.root >= 0 && shape.root < communicator.size; // which MPI checks
  communicator.adaptation->note(shape.kind, has_root ? shape.root : 0,
                                is_planned ? shape.size : arguments.size, is_planned);
}

/// Ends an agreement of the communicator's ranks, if one is open and all of them are known to have
/// begun it.
/// @param code of the call
int go_on(Runtime& runtime, Communicator& communicator, const Call& call, int code) {
  Adaptation* const adaptation = communicator.adaptation.get();
  if (code != MPI_SUCCESS || adaptation == nullptr || !adaptation->is_open()) return code;
  adaptation->left(communicator.calls, call.kind, call.root, waits_for_all(call),
                   has_data(call, communicator.rank));
  return guarded(call.comm, [&] {
    agree_by(runtime, communicator, [&](Adaptation::Said& said) {
      adaptation->after_call(call.comm, communicator.calls, *communicator.chooser, said);
    });
  });
}

/// Executes a call on a communicator that is set up.
int execute_known(Runtime& runtime, Communicator& communicator, const Call& call,
                  CallRecord& record, NativeCall execute_natively) {
  Chooser::Decision choice;
  Adaptation::Turn turn;
  observe::Ticks enter = 0;
  int code = guarded(call.comm, [&] {
    agree(runtime, communicator, call);
    const Arguments arguments = examine(call, communicator, runtime);
    record.event.size = arguments.size;
    choice = decide(runtime, communicator, arguments);
    turn = turn_of(runtime, communicator, call, arguments.shape, choice);
    if (turn.counts) turn.take(arguments.shape, *communicator.chooser, choice);
    note(communicator, arguments, choice.prepared != nullptr);
    record.prediction = choice.prediction;
    // These are of equal blocks: with blocks that differ, or are empty, a call may beat them.
    if (call.is_uneven()) record.prediction.native_ns = record.prediction.bound_ns = 0;
    enter = observe::now();
    if (choice.prepared == nullptr) return;
    record.plan(*choice.prepared);
    observe::PairTimesLog* pairs = nullptr;
    if (turn.race != nullptr) pairs = communicator.adaptation->log(turn, arguments.shape.size);
    carry_out(runtime, communicator, call, arguments, *choice.prepared, record, pairs);
  });
  if (code == MPI_SUCCESS && choice.prepared == nullptr) code = execute_natively();
  if (turn.counts) communicator.adaptation->count(turn, {enter, observe::now()});
  record.reason = choice.reason;
  finish(runtime, communicator, call, record, code);
  return go_on(runtime, communicator, call, code);
}

/// Executes a call on a communicator all of whose calls are native. Only its size is of interest.
int execute_native(Runtime& runtime, const Communicator& communicator, const Call& call,
                   std::int64_t size, CallRecord& record, NativeCall execute_natively) {
  record.event.size = size;
  record.reason = communicator.reason;
  const int code = execute_natively();
  finish(runtime, communicator, call, record, code);
  return code;
}

/// Lets the ranks of a communicator that isn't set up agree on it, if it is time for that.
/// @param code of the call, which has been executed natively
int negotiate(Runtime& runtime, Communicator& communicator, const Call& call,
              const Arguments& arguments, int code) {
  if (communicator.negotiation == nullptr || code != MPI_SUCCESS) return code;
  return guarded(call.comm, [&] {
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
  record.reason = Reason::not_set_up;
  int code = execute_natively();
  if (communicator == nullptr) {
    if (code != MPI_SUCCESS) {
      record.finish();
      return code;
    }
    if (const int error = add_communicator(runtime, call.comm, communicator)) return error;
    if (communicator == nullptr) return code;
    record.event.sequence = communicator->calls++;
    record.set(*communicator);
  }
  if (communicator->reason) record.reason = communicator->reason;
  Arguments arguments;
  if (code == MPI_SUCCESS)
    code = guarded(call.comm, [&] { arguments = examine(call, *communicator, runtime); });
  record.event.size = arguments.size;
  finish(runtime, *communicator, call, record, code);
  return negotiate(runtime, *communicator, call, arguments, code);
}

/// Ends what the ranks began to agree on enough calls ago.
int go_on_negotiating(Communicator& communicator, const Call& call) {
  return guarded(call.comm, [&] { communicator.negotiation->before_call(communicator.calls); });
}

/// Executes a call on a communicator.
/// @param communicator null at its first call, and always if none is kept of it
int execute_on(Runtime* it, Communicator* communicator, const Call& call,
               NativeCall execute_natively) {
  CallRecord record(*it, it->counters, call);
  if (communicator == nullptr && it->active() && it->settings.reproducible)
    if (const int error = add_communicator(*it, call.comm, communicator)) return error;
  if (communicator == nullptr) return execute_apart(*it, nullptr, call, record, execute_natively);
  record.event.sequence = communicator->calls++;
  if (communicator->negotiation != nullptr) {
    if (const int code = go_on_negotiating(*communicator, call); code != MPI_SUCCESS) return code;
    if (communicator->negotiation->done()) communicator->negotiation.reset();
  }
  record.set(*communicator);
  if (communicator->negotiation != nullptr || communicator->reason == Reason::intercommunicator)
    return execute_apart(*it, communicator, call, record, execute_natively);
  if (communicator->reason)
    if (const auto size = plain_size(call))
      return execute_native(*it, *communicator, call, *size, record, execute_natively);
  return execute_known(*it, *communicator, call, record, execute_natively);
}

/// Lets all hosts compare their clocks with rank 0's where all ranks wait for each other anyway, if
/// it is time for that. All count the calls on communicators of all ranks alike, since these come
/// in one order; but for threads, which could be in several calls at a time.
/// @param code of the call
int compare_clocks_if_due(Runtime& runtime, const Communicator* communicator, const Call& call,
                          int code) {
  if (communicator == nullptr || runtime.multiple_threads || !runtime.settings.observes())
    return code;
  if (std::ssize(communicator->world_ranks) != runtime.world_size) return code;
  Observation& observation = runtime.observation;
  ++observation.calls;
  if (code != MPI_SUCCESS || observation.calls < observation.next || !waits_for_all(call))
    return code;
  return guarded(call.comm, [&] { compare_clocks_now(runtime); });
}

} // namespace

int execute(const Call& call, NativeCall execute_natively) {
  Runtime* const it = runtime;
  if (it == nullptr) return execute_natively();
  Communicator* const communicator = it->communicators.find(call.comm);
  const int code = execute_on(it, communicator, call, execute_natively);
  return compare_clocks_if_due(*it, communicator, call, code);
}

void leave(MPI_Comm comm) {
  Runtime* const it = runtime;
  if (it != nullptr) it->communicators.leave(comm);
}

} // namespace thalweg::runtime
