#include "runtime/adapt/replanner.hpp"

#include "planner/bytes.hpp"
#include "runtime/execute/own_arithmetic.hpp"
#include "runtime/mpi/error.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace thalweg::runtime {
namespace {

using observe::PairTimes;
using Stage = AttemptState::Stage;
using Act = AttemptState::Act;

/// The first calls of a shape or of another plan, in which connections are made, don't count.
constexpr std::uint64_t first_calls = 4;
constexpr std::uint64_t most_epochs_to_compare = 64;
/// So many epochs without a call of a shape, and no further one is waited for.
constexpr std::uint64_t most_epochs_without_calls = 8;
/// What an improvement is expected to take of a processor's time for each rank, before one was
/// made: a table, which has some ten plans that count, is taken to need ten times as much (wisdom).
constexpr std::int64_t improvement_ns_per_rank = 10'000'000;
/// While plans are made for what is known to last, looks at races tell nothing new.
constexpr std::int64_t planning_pause_ns = AttemptState::least_rest_ns;

/// Whether no other race of the same class of sizes, which have one plan, was met before.
bool is_first_of_class(const Races& races, std::size_t at) {
  const RaceKey& key = races.all()[at].key();
  return std::ranges::find_if(races.all(), [&](const Race& race) {
           return race.key().is_of_same_class(key);
         }) == races.all().begin() + static_cast<std::ptrdiff_t>(at);
}

/// Whether two tables have the same plan for the calls of a race; null is a table without rows.
bool has_same_plan(const planner::Table* one, const planner::Table* other, const RaceKey& key) {
  const auto row = [&](const planner::Table* table) {
    return table == nullptr ? nullptr : table->find(key.kind, key.root, key.band);
  };
  const auto before = row(one), after = row(other);
  if (before == nullptr || after == nullptr) return before == after;
  return before->native == after->native && before->skeleton == after->skeleton;
}

} // namespace

Replanner::Replanner(const Network& network, std::string library, network::Placement placement,
                     collective::Rank rank)
    : _state(improvement_ns_per_rank * static_cast<std::int64_t>(placement.size())),
      _plan_network(network), _observer(placement, rank) {
  if (rank == 0)
    _leader = std::make_unique<Leader>(_state, network, std::move(library), std::move(placement));
}

std::string Replanner::before_call(MPI_Comm comm, Races& races, Chooser& chooser, bool may_change) {
  act(_state.enter(may_change), comm, races, chooser);
  if (!_state.is_late()) return {};
  return go_on(comm, races, chooser, may_change);
}

std::string Replanner::go_on(MPI_Comm comm, Races& races, Chooser& chooser, bool may_change) {
  const bool changed_plans = _state.changes_plans();
  std::string said = finish();
  act(_state.next(may_change), comm, races, chooser);
  if (changed_plans && !_state.changes_plans()) races.postpone(0);
  return said;
}

void Replanner::act(Act act, MPI_Comm comm, Races& races, Chooser& chooser) {
  switch (act) {
  case Act::nothing:
    return;
  case Act::try_before:
    _observer.forget(_state.race());
    _observer.forget_calls();
    return swap_tables(chooser);
  case Act::collect:
    if (_leader != nullptr) _leader->observe(races, chooser, _observer);
    if (_state.purpose() == Purpose::recovery) swap_tables(chooser);
    return begin_collection(comm);
  case Act::plan:
    if (_leader == nullptr) return;
    _leader->observe(races, chooser, _observer);
    return _leader->start_planning();
  case Act::agree:
    return begin_agreement(comm, chooser);
  case Act::share:
    return begin_sharing(comm);
  case Act::adopt:
    return adopt(races, chooser);
  case Act::go_back:
    return go_back(races, chooser);
  }
}

std::string Replanner::finish() {
  _open.wait();
  switch (_state.stage()) {
  case Stage::collecting:
    _state.collected();
    if (_leader != nullptr && !_state.is_dismissed()) _leader->start_planning();
    return {};
  case Stage::sharing:
    _state.shared();
    return {};
  default:
    if (!_state.agree(_all))
      return "the ranks of a communicator disagree about their plans, which stay as they are";
    return _leader != nullptr ? _leader->end_attempt() : "";
  }
}

void Replanner::look(Races& races) {
  const OwnArithmetic arithmetic; // ranks decide alike by what is computed here
  _state.prepare();
  const auto at = races.looked_at();
  if (!at) return;
  look_at(races, *at);
  if (_state.changes_plans())
    races.postpone(_state.is_confirmed() ? planning_pause_ns : Watch::lasting_ns);
}

void Replanner::look_at(Races& races, std::size_t at) {
  _state.expect(races.call_ns());
  if (compare_plans(races, at)) return;
  if (_state.is_unconfirmed())
    follow_up(races);
  else if (const auto drifted = races.drifted())
    follow_drift(races, *drifted);
  else if (races.all()[at].incumbent() == Candidate::plan)
    look_without_drift(races, at);
}

/// Compares what was adopted last with the plans before, unless it has been. Returns whether
/// nothing else is to be looked at: their calls are still to come, or the plans before come back.
bool Replanner::compare_plans(const Races& races, std::size_t at) {
  if (!_compares) return false;
  const Race& race = races.all()[at];
  if (at != _state.race() || race.watch().cost_ns() <= 0) {
    // Perhaps its calls don't come any more.
    const std::uint64_t most = races.all()[_state.race()].calls() > _calls_before
                                   ? most_epochs_to_compare
                                   : most_epochs_without_calls;
    _compares = races.epochs() < _adopted_at + most;
    return _compares;
  }
  _compares = false;
  if (_leader != nullptr) _leader->compare(race);
  if (race.has_worse_plan()) {
    _state.go_back();
    return true;
  }
  _state.compare(_usual_ns, _cost_before_ns, race.watch().cost_ns());
  return false;
}

/// Confirms what goes on, or gives it up if calls took as usual again, or don't come any more: they
/// would be looked at next. What comes and goes is confirmed, too, where the new plans are better
/// for that.
void Replanner::follow_up(Races& races) {
  const Watch& watch = races.all()[_state.race()].watch();
  const bool is_looked_at = races.looked_at() == _state.race();
  _looks_elsewhere = is_looked_at ? 0 : _looks_elsewhere + 1;
  const bool comes = _looks_elsewhere < most_epochs_without_calls;
  const auto drifted = races.drifted();
  if (drifted && comes && watch.is_off()) {
    _usual_ns = watch.usual_ns();
    _cost_before_ns = watch.cost_ns();
    _state.confirm();
    return races.settle_watch(*drifted);
  }
  const bool is_another = watch.begins_to_be_off() && is_looked_at;
  _has_returned = _has_returned || is_another;
  if (comes && !drifted && _state.may_come_and_go(races.elapsed_ns())) {
    if (_has_returned && _state.suits_both()) _state.confirm(true);
    return;
  }
  if (comes && watch.is_off() && !is_another) return;
  _state.dismiss(races.elapsed_ns());
  if (_leader != nullptr) _leader->dismiss();
}

/// Begins an attempt for a plan that drifted, unless it is too early for that.
void Replanner::follow_drift(Races& races, std::size_t drifted) {
  const Watch& watch = races.all()[drifted].watch();
  if (!_state.suspect(drifted, watch.is_slower(), races.elapsed_ns())) return;
  _usual_ns = watch.usual_ns();
  _cost_before_ns = watch.cost_ns();
  begin_attempt(races, drifted);
  races.settle_watch(drifted);
}

/// Begins what is due while no plan has drifted: a look for a recovery, an improvement, or an
/// attempt that isn't confirmed yet since a plan begins to take longer.
void Replanner::look_without_drift(const Races& races, std::size_t at) {
  const Watch& watch = races.all()[at].watch();
  const std::int64_t now_ns = races.elapsed_ns();
  // A recovery may make calls take less, but not so clearly that they drift.
  if ((!watch.is_slower() && _state.look_for_recovery(at, now_ns)) ||
      (!watch.is_off() && watch.cost_ns() > 0 && is_first_of_class(races, at) &&
       _state.improve(at, now_ns)))
    return begin_attempt(races, at);
  _observer.forget(at); // Part of what was observed may be from before the network changed.
  if (watch.begins_to_be_off() && watch.is_slower() && _state.suspect(at, true, now_ns, false)) {
    _looks_elsewhere = 0;
    _has_returned = false;
    _usual_ns = watch.usual_ns();
    _cost_before_ns = watch.cost_ns();
    begin_attempt(races, at);
  }
}

void Replanner::begin_attempt(const Races& races, std::size_t race) {
  if (_leader != nullptr) _leader->begin_attempt(races, race);
}

observe::PairTimesLog* Replanner::log(const Races& races, const Race& race, units::Size size) {
  const auto at = static_cast<std::size_t>(&race - races.all().data());
  _observer.note_size(at, size);
  // The first half of a trial's calls still depends on the calls with the plans before.
  const bool begins_trial = _state.tries() && 2 * _observer.calls() <= AttemptState::trial_calls;
  if (begins_trial || race.calls() < first_calls || _state.calls() < _changed_at + first_calls)
    return nullptr;
  return _observer.log(at);
}

void Replanner::begin_agreement(MPI_Comm comm, const Chooser& chooser) {
  const std::int64_t answer = _leader != nullptr ? _leader->answer() : AttemptState::nothing;
  const bool suits_both = _leader != nullptr && _leader->suits_both();
  // After the answer: with a plan comes what it took.
  const std::int64_t improving_ns = _leader != nullptr ? _leader->improving_ns() : 0;
  const bool is_well = prepare(chooser);
  _own = _state.record(_leader != nullptr, answer, suits_both, is_well, _content, improving_ns);
  check(native.Iallreduce(_own.data(), _all.data(), static_cast<int>(_own.size()), native.int64,
                          native.min, comm, _open.request()));
  _open.begin(_state.calls());
}

/// Does what this rank has to do before the ranks agree that all have. Returns whether it could.
bool Replanner::prepare(const Chooser& chooser) {
  try {
    switch (_state.stage()) {
    case Stage::preparing:
      make_room();
      return true;
    case Stage::allocating:
      _bytes.reserve(_state.size());
      return true;
    case Stage::checking:
      read_table(chooser);
      return true;
    default:
      return true;
    }
  } catch (const std::exception&) {
    return false;
  }
}

void Replanner::make_room() {
  _sums.resize(PairTimes::fields * _observer.sums_of_pairs());
  if (_leader != nullptr) _leader->make_room(_sums.size());
  _bytes.reserve(static_cast<std::size_t>(AttemptState::room));
}

void Replanner::read_table(const Chooser& chooser) {
  auto table = std::make_shared<planner::Table>();
  if (chooser.table() != nullptr) *table = *chooser.table();
  put_plans(*table, planner::table_from_bytes(std::as_bytes(std::span(_bytes))));
  _table = std::move(table);
  _content = planner::checksum(std::as_bytes(std::span(_bytes)));
}

void Replanner::begin_collection(MPI_Comm comm) {
  std::ranges::fill(_sums, 0);
  _observer.put_sums(_state.race(), _sums);
  _observer.forget(_state.race());
  std::uint64_t* const all_sums = _leader != nullptr ? _leader->sums().data() : nullptr;
  check(native.Ireduce(_sums.data(), all_sums, static_cast<int>(_sums.size()), native.uint64,
                       native.sum, 0, comm, _open.request()));
  _open.begin(_state.calls());
}

void Replanner::begin_sharing(MPI_Comm comm) {
  if (_leader != nullptr)
    _bytes = _leader->bytes();
  else
    _bytes.resize(_state.size()); // for which there is room
  check(native.Ibcast(_bytes.data(), static_cast<int>(_bytes.size()), native.byte, 0, comm,
                      _open.request()));
  _open.begin(_state.calls());
}

void Replanner::swap_tables(Chooser& chooser) {
  std::shared_ptr<const planner::Table> table = chooser.table();
  chooser.use(std::exchange(_old_table, std::move(table)));
}

/// Lets the new table hold.
void Replanner::adopt(Races& races, Chooser& chooser) {
  _old_table = std::move(_table);
  swap_tables(chooser);
  if (_leader != nullptr) _leader->adopt();
  restart(races, chooser, true);
  if (_state.comes_and_goes()) races.compare_plan(_state.race(), (_usual_ns + _cost_before_ns) / 2);
}

/// Lets the table before the last change hold again: the network has recovered, or the new plans
/// were worse, and then the plans before needn't be compared with them.
void Replanner::go_back(Races& races, Chooser& chooser) {
  swap_tables(chooser);
  if (_leader != nullptr) _leader->go_back();
  restart(races, chooser, _state.purpose() == Purpose::recovery);
}

/// Begins to observe anew, since other plans hold. After an improvement the network is as it was,
/// and what raced between plans that stay is still true.
/// @param compares whether they are compared with those before
void Replanner::restart(Races& races, const Chooser& chooser, bool compares) {
  _bytes.clear();
  _compares = compares;
  _adopted_at = races.epochs();
  _calls_before = races.all()[_state.race()].calls();
  _changed_at = _state.calls();
  _observer.forget_messages();
  if (_state.purpose() != Purpose::improvement) return races.restart(compares);
  races.restart(compares, [&](const RaceKey& key) {
    return !has_same_plan(_old_table.get(), chooser.table().get(), key);
  });
}

void Replanner::end() {
  _state.close();
  if (_leader != nullptr) _leader->cancel(); // The thread ends while messages are waited for.
  _open.end();
  if (_leader != nullptr) _leader->end();
}

} // namespace thalweg::runtime
