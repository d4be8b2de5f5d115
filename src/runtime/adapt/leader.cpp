#include "runtime/adapt/leader.hpp"

#include "runtime/adapt/call_row.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

namespace thalweg::runtime {
namespace {

using Outcome = AttemptState::Outcome;

std::string too_large_text(std::size_t ranks) {
  return "it isn't looked for what changed in the network: a call of " + std::to_string(ranks) +
         " ranks has more than " + std::to_string(CallRow::most_messages) +
         " messages, too many to simulate; the plans stay as they are";
}

} // namespace

Leader::Leader(const AttemptState& state, const Network& network, std::string library,
               network::Placement placement)
    : _state(state), _plan_network(network), _library(std::move(library)),
      _placement(std::move(placement)) {
  _attempts.reserve(most_changes); // no memory is needed where ranks go on alike
}

void Leader::make_room(std::size_t sums) {
  _sums.resize(sums);
  if (_thread == nullptr) _thread = std::make_unique<PlanningThread>();
}

void Leader::begin_attempt(const Races& races, std::size_t race) {
  const Race& of = races.all()[race];
  if (_attempts.size() >= most_attempts) forget_attempt();
  Attempt& attempt = _attempts.emplace_back();
  attempt.key = of.key();
  attempt.sizes = of.sizes();
  attempt.call = of.calls();
  attempt.epoch = races.epochs();
  attempt.usual_ns = of.watch().usual_ns();
  attempt.cost_ns = of.watch().cost_ns();
  attempt.purpose = _state.purpose();
}

/// Forgets the oldest attempt that changed no plans, since the network is what all others together
/// made of it; if there are too many of these, the oldest one.
void Leader::forget_attempt() {
  const auto oldest = std::ranges::find(_attempts, 0U, &Attempt::adopted);
  if (oldest != _attempts.end())
    _attempts.erase(oldest);
  else if (_attempts.size() == most_changes)
    _attempts.erase(_attempts.begin());
}

void Leader::compare(const Race& race) {
  if (_attempts.empty()) return;
  _attempts.back().after_ns = race.watch().cost_ns();
  _attempts.back().was_worse = race.has_worse_plan();
}

void Leader::dismiss() {
  _attempts.pop_back();
  _observations.reset();
  _thread->cancel();
}

std::string Leader::end_attempt() {
  const Outcome outcome = _state.outcome();
  if (outcome == Outcome::none) return {};
  if (_attempts.empty())
    return outcome == Outcome::no_memory
               ? "a rank has no memory to prepare for new plans; the plans stay as they are"
               : "";
  Attempt& attempt = _attempts.back();
  attempt.outcome = outcome;
  _observations.reset();
  if (outcome == Outcome::nothing_better && _thread->has_failed()) {
    attempt.outcome = Outcome::no_memory;
    return std::exchange(_said_failure, true)
               ? ""
               : "rank 0 couldn't plan anew, for lack of memory or of a thread; the plans stay as "
                 "they are";
  }
  const bool is_too_large = outcome == Outcome::nothing_better && _thread->is_too_large();
  if (outcome == Outcome::nothing_better &&
      (attempt.purpose == Purpose::recovery || !_state.is_confirmed())) {
    _attempts.pop_back(); // as was to be expected
    return is_too_large ? too_large_text(_placement.size()) : "";
  }
  take_findings(attempt);
  if (outcome == Outcome::no_memory)
    return "a rank has no memory for new plans; the plans stay as they are";
  if (outcome == Outcome::unreadable)
    return "a rank can't read the new plans; the plans stay as they are";
  return is_too_large ? too_large_text(_placement.size()) : "";
}

/// Takes what the thread found out, if it is ready: moved, since there may be no memory.
void Leader::take_findings(Attempt& attempt) {
  if (_thread == nullptr || _thread->answer() == AttemptState::busy) return;
  Replan found = _thread->take_result();
  attempt.found_recovered = found.is_explained && found.causes.empty();
  attempt.causes = std::move(found.causes);
  attempt.quantity = found.quantity;
  attempt.changes = std::move(found.changes);
  _next = std::move(found.network);
}

void Leader::adopt() {
  _before = std::exchange(_changed, std::exchange(_next, std::nullopt));
  note_change();
}

void Leader::go_back() {
  std::swap(_changed, _before);
  // Plans that were worse weren't made for what the network had become.
  const bool were_worse = _state.purpose() != Purpose::recovery;
  if (were_worse && !_attempts.back().is_recovery()) _before.reset();
  note_change();
}

void Leader::note_change() {
  Attempt& attempt = _attempts.back();
  if (attempt.adopted == 0) attempt.adopted = _state.calls();
}

void Leader::observe(const Races& races, const Chooser& chooser, const CallObserver& observer) {
  try {
    _observations = observed(races, chooser, observer);
  } catch (const std::exception&) {
    _observations.reset(); // for lack of memory
  }
}

std::shared_ptr<Observations> Leader::observed(const Races& races, const Chooser& chooser,
                                               const CallObserver& observer) const {
  auto seen = std::make_shared<Observations>();
  seen->network = network();
  seen->library = _library;
  seen->placement = _placement;
  if (chooser.table() != nullptr) seen->table = *chooser.table();
  seen->hosts = observer.hosts();
  const Attempt& attempt = _attempts.back();
  seen->usual_ns = attempt.usual_ns;
  seen->cost_ns = attempt.cost_ns;
  if (_changed) seen->unimpaired = _before ? *_before : _plan_network;
  seen->purpose = _state.purpose();
  for (std::size_t race = 0; race < observer.races(); ++race) {
    CalledShape shape = observer.shape(races, race);
    if (race == _state.race())
      seen->shape = shape;
    else
      seen->others.push_back(shape);
  }
  seen->row = observer.latest_calls();
  return seen;
}

void Leader::start_planning() {
  _thread->stop();
  try {
    if (_observations != nullptr) {
      std::vector<observe::PairTimes>& since = _observations->since;
      since.resize(_sums.size() / observe::PairTimes::fields);
      std::memcpy(static_cast<void*>(since.data()), _sums.data(),
                  since.size() * sizeof(observe::PairTimes));
    }
  } catch (const std::bad_alloc&) {
    _observations.reset();
  }
  _thread->start(_observations);
}

} // namespace thalweg::runtime
