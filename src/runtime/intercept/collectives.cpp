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

/// Says once that the ranks of a communicator disagree, if they do.
void report(Runtime& runtime, const Communicator& communicator, bool disagree) {
  if (!disagree) return;
  const std::string text = "the ranks of a communicator disagree about a race; its calls are "
                           "executed as planned";
  runtime.notices.add({.key = "race", .text = text}, runtime.world_rank, communicator.rank == 0);
}

/// Says why plans can't follow the network, if there is a reason.
void report(Runtime& runtime, const Communicator& communicator, const std::string& text) {
  if (text.empty()) return;
  runtime.notices.add({.key = "replan " + text, .text = text}, runtime.world_rank,
                      communicator.rank == 0);
}

/// Lets the ranks agree on races and plans, as far as it is time for that.
void agree(Runtime& runtime, Communicator& communicator, const Call& call) {
  Epochs* const epochs = communicator.epochs.get();
  Replanner* const replanner = communicator.replanner.get();
  if (epochs == nullptr) return;
  const std::uint64_t before = epochs->races.epochs();
  report(runtime, communicator, epochs->before_call(call.comm));
  if (replanner == nullptr) return;
  if (epochs->races.epochs() != before) replanner->look(epochs->races);
  report(
      runtime, communicator,
      replanner->before_call(call.comm, epochs->races, *communicator.chooser, !epochs->is_open()));
}

/// Whether calls of one size can be compared, and their times tell when all ranks had entered:
/// where blocks differ in size, all ranks must know that all blocks have data. The same on all
/// ranks.
bool may_race(const Call& call, const Shape& shape) {
  return !call.is_uneven() || (shape.sizes_are_known && waits_for_all(call));
}

/// Returns the race of a call that there is a plan for; null if it isn't raced. The same on all
/// ranks. Sizes of a class may be of two rows: where native is planned in one of these only, the
/// first one that is called races. Second plans don't race where plans follow the network, which is
/// noticed by the first ones.
Race* race_of(const Runtime& runtime, const Communicator& communicator, const Call& call,
              const Shape& shape, const Chooser::Decision& choice) {
  Epochs* const epochs = communicator.epochs.get();
  const bool has_plan = choice.prepared != nullptr;
  const bool has_second = choice.has_second && communicator.replanner == nullptr;
  if (epochs == nullptr || !(has_plan || has_second) || !may_race(call, shape)) return nullptr;
  if (runtime.force[shape.kind].what != Force::What::nothing) return nullptr;
  if (runtime.settings.reproducible && depends_on_order(shape.kind)) return nullptr;
  const Candidates candidates(has_plan, has_second);
  const RaceKey key = key_of(shape.kind, shape.root, shape.size);
  Race* race = epochs->races.find(key);
  if (race == nullptr)
    race = epochs->races.add(
        key, call_cost_ns(shape.kind, communicator.size, shape.size, runtime.slowest_path),
        candidates, communicator.replanner == nullptr); // which knows races by their numbers
  if (race == nullptr || race->candidates().planned() != candidates.planned()) return nullptr;
  race->note_size(shape.size);
  epochs->predictions(*race) = {.predicted_plan_ns = choice.prediction.plan_ns,
                                .predicted_native_ns = choice.prediction.native_ns};
  return race;
}

/// Notes a call of a communicator whose plans may follow the network.
void note(Communicator& communicator, const Call& call, const Arguments& arguments,
          bool is_planned) {
  Replanner* const replanner = communicator.replanner.get();
  if (replanner == nullptr) return;
  const bool has_root = collective::is_rooted(call.kind) && call.root >= 0 &&
                        call.root < communicator.size; // which the library checks
  const Rank root = has_root ? call.root : 0;
  const units::Size size = is_planned ? arguments.shape.size : arguments.size;
  replanner->note(key_of(call.kind, root, size), size, is_planned);
}

/// Lets another candidate than what is planned take its turn. A size whose row has no second plan
/// is then executed as planned.
void take_turn(const Race& race, Chooser& chooser, const Shape& shape, Chooser::Decision& choice) {
  const Candidate next = race.next();
  if (next == Candidate::native && choice.prepared != nullptr) {
    choice.prepared = nullptr;
    choice.reason = Reason::race;
    choice.prediction = {};
  }
  if (next != Candidate::second || !choice.has_second) return;
  if (auto second = chooser.second(shape)) {
    choice.prepared = std::move(second);
    choice.reason.reset();
    choice.prediction.plan_ns = 0; // which is that of the first
  }
}

/// Ends an agreement of the communicator's ranks, if one is open and all of them are known to have
/// begun it.
/// @param code of the call
int end_epoch(Runtime& runtime, Communicator& communicator, const Call& call, int code) {
  Epochs* const epochs = communicator.epochs.get();
  Replanner* const replanner = communicator.replanner.get();
  const bool is_open =
      (epochs != nullptr && epochs->is_open()) || (replanner != nullptr && replanner->is_open());
  if (code != MPI_SUCCESS || !is_open) return code;
  communicator.arrivals.count(communicator.calls, call.kind, call.root, waits_for_all(call),
                              has_data(call, communicator.rank));
  const std::uint64_t ago = communicator.arrivals.calls_ago(communicator.calls);
  const bool agrees = epochs->is_due(ago);
  const bool replans = replanner != nullptr && replanner->has_begun_before(ago);
  if (!(agrees || replans)) return code;
  return guarded(call.comm, [&] {
    if (agrees) {
      const std::uint64_t before = epochs->races.epochs();
      report(runtime, communicator, epochs->finish());
      if (replanner != nullptr && epochs->races.epochs() != before) replanner->look(epochs->races);
    }
    if (replans)
      report(runtime, communicator,
             replanner->go_on(call.comm, epochs->races, *communicator.chooser, !epochs->is_open()));
  });
}

/// Executes a call on a communicator that is set up.
int execute_known(Runtime& runtime, Communicator& communicator, const Call& call,
                  CallRecord& record, NativeCall execute_natively) {
  Chooser::Decision choice;
  Race* race = nullptr;
  bool tries = false; // plans that aren't raced
  observe::Ticks enter = 0;
  int code = guarded(call.comm, [&] {
    agree(runtime, communicator, call);
    const Arguments arguments = examine(call, communicator, runtime);
    record.event.size = arguments.size;
    choice = decide(runtime, communicator, arguments);
    race = race_of(runtime, communicator, call, arguments.shape, choice);
    tries = communicator.replanner != nullptr && communicator.replanner->tries();
    if (race != nullptr && !tries) take_turn(*race, *communicator.chooser, arguments.shape, choice);
    note(communicator, call, arguments, choice.prepared != nullptr);
    record.prediction = choice.prediction;
    // These are of equal blocks: with blocks that differ, or are empty, a call may beat them.
    if (call.is_uneven()) record.prediction.native_ns = record.prediction.bound_ns = 0;
    enter = observe::now();
    if (choice.prepared == nullptr) return;
    record.plan(*choice.prepared);
    observe::PairTimesLog* pairs = nullptr;
    if (race != nullptr && communicator.replanner != nullptr)
      pairs = communicator.replanner->log(communicator.epochs->races, *race, arguments.shape.size);
    carry_out(runtime, communicator, call, arguments, *choice.prepared, record, pairs);
  });
  if (code == MPI_SUCCESS && choice.prepared == nullptr) code = execute_natively();
  if (race != nullptr && !tries) communicator.epochs->races.count(*race, {enter, observe::now()});
  record.reason = choice.reason;
  finish(runtime, communicator, call, record, code);
  return end_epoch(runtime, communicator, call, code);
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

/// Executes a call on a communicator. @param communicator null at its first call
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
