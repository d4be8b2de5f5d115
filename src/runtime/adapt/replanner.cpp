#include "runtime/adapt/replanner.hpp"

#include "planner/bytes.hpp"
#include "runtime/mpi/error.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <span>

namespace thalweg::runtime {
namespace {

using observe::PairTimes;
using Stage = Replanning::Stage;
using Act = Replanning::Act;

/// The first calls of a shape or of another plan, in which connections are made, don't count.
constexpr std::uint64_t first_calls = 4;
constexpr std::size_t most_attempts = 64;
/// The planned calls that are simulated in a row.
constexpr std::size_t most_rowed = 12;
constexpr std::uint64_t most_epochs_to_compare = 64;
/// While plans are made for what is known to last, looks at races tell nothing new.
constexpr std::int64_t planning_pause_ns = Replanning::least_rest_ns;

/// Returns the distinct hosts of a placement, ascending.
std::vector<HostId> hosts_of(const network::Placement& placement) {
  std::vector<HostId> hosts = placement;
  std::ranges::sort(hosts);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

/// Returns the position in `hosts` of each rank's host.
std::vector<std::int32_t> positions(const network::Placement& placement,
                                    const std::vector<HostId>& hosts) {
  std::vector<std::int32_t> result;
  for (const HostId host : placement)
    result.push_back(
        static_cast<std::int32_t>(std::ranges::lower_bound(hosts, host) - hosts.begin()));
  return result;
}

} // namespace

Replanner::Replanner(const Network& network, std::string library, network::Placement placement,
                     collective::Rank rank)
    : _plan_network(network), _library(std::move(library)), _placement(std::move(placement)),
      _rank(rank), _hosts(hosts_of(_placement)),
      _own_host(positions(_placement, _hosts)[index(rank)]),
      _log(positions(_placement, _hosts), rank) {
  _seen.reserve(Races::most_races);
  if (leads()) _attempts.reserve(most_attempts); // no memory is needed where ranks go on alike
}

std::string Replanner::before_call(MPI_Comm comm, Races& races, Chooser& chooser, bool may_change) {
  act(_state.enter(may_change), comm, races, chooser);
  if (!_state.has_begun_before() || !_state.is_late(Races::least_patience)) return {};
  return go_on(comm, races, chooser, may_change);
}

std::string Replanner::go_on(MPI_Comm comm, Races& races, Chooser& chooser, bool may_change) {
  const bool changed_plans = _state.changes_plans();
  std::string said = finish();
  act(_state.next(may_change), comm, races, chooser);
  if (changed_plans != _state.changes_plans())
    races.postpone(changed_plans ? 0 : planning_pause_ns);
  return said;
}

void Replanner::act(Act act, MPI_Comm comm, Races& races, Chooser& chooser) {
  switch (act) {
  case Act::nothing:
    return;
  case Act::try_before:
    forget(_state.race());
    _rows = 0;
    return swap_tables(chooser);
  case Act::collect:
    if (leads()) _observations = observations(races, chooser);
    if (_state.looks_for_recovery()) swap_tables(chooser);
    return begin_collection(comm);
  case Act::plan:
    if (!leads()) return;
    _observations = observations(races, chooser);
    return start_planning();
  case Act::agree:
    return begin_agreement(comm, chooser);
  case Act::share:
    return begin_sharing(comm);
  case Act::adopt:
  case Act::go_back:
    return change(races, chooser, act == Act::go_back);
  }
}

std::string Replanner::finish() {
  check(native.Wait(&_request, MPI_STATUS_IGNORE));
  switch (_state.stage()) {
  case Stage::collecting:
    _state.collected();
    if (leads() && !_state.is_dismissed()) start_planning();
    return {};
  case Stage::sharing:
    _state.shared();
    return {};
  default:
    if (!_state.agree(_all))
      return "the ranks of a communicator disagree about their plans, which stay as they are";
    return ended();
  }
}

/// Says how an attempt ended, if it did so in this agreement.
std::string Replanner::ended() {
  const Replanning::Outcome outcome = _state.outcome();
  if (outcome == Replanning::Outcome::none || !leads() || _attempts.empty()) return {};
  Attempt& attempt = _attempts.back();
  attempt.outcome = outcome;
  if (outcome == Replanning::Outcome::nothing_better && _thread->has_failed()) {
    attempt.outcome = Replanning::Outcome::no_memory;
    _observations.reset();
    return std::exchange(_said_failure, true)
               ? ""
               : "rank 0 couldn't plan anew, for lack of memory or of a thread; the plans stay as "
                 "they are";
  }
  if ((attempt.is_recovery || !_state.is_confirmed()) &&
      outcome == Replanning::Outcome::nothing_better) {
    _attempts.pop_back(); // as was to be expected
    _observations.reset();
    return {};
  }
  if (_thread != nullptr && _thread->answer() != Replanning::busy) {
    Replan result = _thread->take_result(); // moved, since there may be no memory
    attempt.is_recovery = attempt.is_recovery || (result.is_explained && result.causes.empty());
    attempt.causes = std::move(result.causes);
    attempt.quantity = result.quantity;
    attempt.changes = std::move(result.changes);
    _next = std::move(result.network);
  }
  _observations.reset();
  if (outcome == Replanning::Outcome::no_memory)
    return "a rank has no memory for new plans; the plans stay as they are";
  if (outcome == Replanning::Outcome::unreadable)
    return "a rank can't read the new plans; the plans stay as they are";
  return {};
}

void Replanner::look(Races& races) {
  _state.prepare();
  const auto at = races.looked_at();
  if (!at) return;
  look_at(races, *at);
  if (_state.changes_plans())
    races.postpone(_state.is_confirmed() ? planning_pause_ns : Watch::lasting_ns);
}

void Replanner::look_at(Races& races, std::size_t at) {
  _state.expect(races.call_ns());
  const Race& race = races.all()[at];
  if (_compares && at == _state.race() && race.watch().cost_ns() > 0) {
    _compares = false;
    if (leads() && !_attempts.empty()) {
      _attempts.back().after_ns = race.watch().cost_ns();
      _attempts.back().was_worse = race.has_worse_plan();
    }
    if (race.has_worse_plan()) return _state.go_back();
    _state.compare(_usual_ns, _cost_before_ns, race.watch().cost_ns());
  }
  // What was adopted is compared first, unless its calls don't come any more.
  if (_compares && races.epochs() < _adopted_at + most_epochs_to_compare) return;
  _compares = false;
  if (_state.is_unconfirmed()) return follow_up(races);
  const auto drifted = races.drifted();
  if (!drifted) {
    if (race.incumbent() != Candidate::plan) return;
    const Watch& watch = race.watch();
    const std::int64_t now_ns = races.elapsed_ns();
    // A recovery may make calls take less, but not so clearly that they drift.
    if ((!watch.is_slower() && _state.look_for_recovery(at, now_ns)) ||
        (!watch.is_off() && watch.cost_ns() > 0 && _state.improve(at, now_ns)))
      return begin_attempt(races, at);
    forget(at);
    if (watch.begins_to_be_off() && watch.is_slower() && _state.suspect(at, true, now_ns, false))
      begin_attempt(races, at);
    return;
  }
  const Watch& watch = races.all()[*drifted].watch();
  if (!_state.suspect(*drifted, watch.is_slower(), races.elapsed_ns())) return;
  _usual_ns = watch.usual_ns();
  _cost_before_ns = watch.cost_ns();
  begin_attempt(races, *drifted);
  races.settle_watch(*drifted);
}

/// Confirms what goes on, or gives it up if calls took as usual again.
void Replanner::follow_up(Races& races) {
  if (const auto drifted = races.drifted()) {
    const Watch& watch = races.all()[*drifted].watch();
    _usual_ns = watch.usual_ns();
    _cost_before_ns = watch.cost_ns();
    _state.confirm();
    return races.settle_watch(*drifted);
  }
  const Watch& watch = races.all()[_state.race()].watch();
  const bool is_another = watch.begins_to_be_off() && races.looked_at() == _state.race();
  if (watch.is_off() && !is_another) return;
  _state.dismiss(races.elapsed_ns());
  if (!leads()) return;
  _attempts.pop_back();
  _observations.reset();
  _thread->cancel();
}

void Replanner::begin_attempt(const Races& races, std::size_t race) {
  if (!leads()) return;
  const Race& of = races.all()[race];
  if (_attempts.size() == most_attempts) _attempts.pop_back();
  Attempt& attempt = _attempts.emplace_back();
  attempt.key = of.key();
  attempt.call = of.calls();
  attempt.epoch = races.epochs();
  attempt.usual_ns = of.watch().usual_ns();
  attempt.cost_ns = of.watch().cost_ns();
  attempt.is_recovery = _state.looks_for_recovery();
  attempt.is_improvement = _state.improves();
}

/// Part of what was observed since the last look may be from before the network changed.
void Replanner::forget(std::size_t race) {
  if (race < _seen.size()) std::ranges::fill(_seen[race].incoming, PairTimes{});
}

observe::PairTimesLog* Replanner::log(const Races& races, const Race& race, units::Size size) {
  const auto at = static_cast<std::size_t>(&race - races.all().data());
  try {
    if (_seen.size() <= at) _seen.resize(at + 1);
    Seen& seen = _seen[at];
    seen.size = size;
    if (_state.tries() && 2 * _rows <= Replanning::trial_calls) return nullptr; // after other plans
    if (race.calls() < first_calls || _state.calls() < _changed_at + first_calls) return nullptr;
    // Where a rank has no memory for that, its messages don't count.
    seen.incoming.resize(_hosts.size() * PairTimes::classes);
    _log.calibrate();
    _log.count_in(seen.incoming);
    return &_log;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void Replanner::begin_agreement(MPI_Comm comm, const Chooser& chooser) {
  std::int64_t answer = Replanning::nothing;
  if (_thread != nullptr) answer = _thread->answer();
  const bool is_well = prepare(chooser);
  _own = _state.record(leads(), answer, is_well, _content);
  check(native.Iallreduce(_own.data(), _all.data(), static_cast<int>(_own.size()), native.int64,
                          native.min, comm, &_request));
}

/// Does what this rank has to do before the ranks agree that all have. Returns whether it could.
bool Replanner::prepare(const Chooser& chooser) {
  try {
    switch (_state.stage()) {
    case Stage::preparing:
      return make_room();
    case Stage::allocating:
      _bytes.reserve(_state.size());
      return true;
    case Stage::checking:
      return read_table(chooser);
    default:
      return true;
    }
  } catch (const std::exception&) {
    return false;
  }
}

bool Replanner::make_room() {
  const std::size_t size = PairTimes::fields * sums_of_pairs();
  _sums.resize(size);
  if (leads()) {
    _all_sums.resize(size);
    if (_thread == nullptr) _thread = std::make_unique<PlanningThread>();
  }
  _bytes.reserve(static_cast<std::size_t>(Replanning::room));
  return true;
}

bool Replanner::read_table(const Chooser& chooser) {
  auto table = std::make_shared<planner::Table>();
  if (chooser.table() != nullptr) *table = *chooser.table();
  put_plans(*table, planner::table_from_bytes(std::as_bytes(std::span(_bytes))));
  _table = std::move(table);
  _content = planner::checksum(std::as_bytes(std::span(_bytes)));
  return true;
}

/// Returns what the leader knows itself; null without memory.
std::shared_ptr<Observations> Replanner::observations(const Races& races,
                                                      const Chooser& chooser) const {
  try {
    auto seen = std::make_shared<Observations>();
    seen->network = network();
    seen->library = _library;
    seen->placement = _placement;
    if (chooser.table() != nullptr) seen->table = *chooser.table();
    seen->hosts = _hosts;
    const Attempt& attempt = _attempts.back();
    seen->usual_ns = attempt.usual_ns;
    seen->cost_ns = attempt.cost_ns;
    if (_changed) seen->unimpaired = _before ? *_before : _plan_network;
    seen->looks_for_recovery = _state.looks_for_recovery();
    seen->improves = _state.improves();
    const auto shape_of = [&](std::size_t race) {
      return CalledShape{races.all()[race].key(), _seen[race].size, races.all()[race].calls()};
    };
    for (std::size_t race = 0; race < _seen.size(); ++race)
      if (race != _state.race()) seen->others.push_back(shape_of(race));
    if (_state.race() < _seen.size()) seen->shape = shape_of(_state.race());
    seen->row = latest_calls();
    return seen;
  } catch (const std::exception&) {
    return nullptr;
  }
}

/// Returns as many of the latest calls as have some planned ones among them.
std::vector<RowedCall> Replanner::latest_calls() const {
  std::vector<RowedCall> row;
  std::size_t planned = 0;
  for (std::size_t i = _rows; i > _rows - std::min(_rows, _row.size()) && planned < most_rowed;
       --i) {
    row.push_back(_row[(i - 1) % _row.size()]);
    planned += row.back().is_planned ? 1 : 0;
  }
  std::ranges::reverse(row);
  return row;
}

void Replanner::begin_collection(MPI_Comm comm) {
  std::ranges::fill(_sums, 0);
  const std::size_t hosts = _hosts.size(), own = index(_own_host);
  constexpr std::size_t fields = PairTimes::fields * PairTimes::classes; // of a pair
  if (_state.race() < _seen.size() && !_seen[_state.race()].incoming.empty())
    for (std::size_t host = 0; host < hosts; ++host)
      if (host != own)
        std::memcpy(&_sums[(host * hosts + own) * fields],
                    &_seen[_state.race()].incoming[host * PairTimes::classes],
                    fields * sizeof(std::uint64_t));
  forget(_state.race());
  check(native.Ireduce(_sums.data(), _all_sums.data(), static_cast<int>(_sums.size()),
                       native.uint64, native.sum, 0, comm, &_request));
}

void Replanner::start_planning() {
  _thread->stop();
  try {
    if (_observations != nullptr) {
      _observations->since.resize(sums_of_pairs());
      std::memcpy(static_cast<void*>(_observations->since.data()), _all_sums.data(),
                  sums_of_pairs() * sizeof(PairTimes));
    }
  } catch (const std::bad_alloc&) {
    _observations.reset();
  }
  _thread->start(_observations);
}

void Replanner::begin_sharing(MPI_Comm comm) {
  if (leads())
    _bytes = _thread->bytes();
  else
    _bytes.resize(_state.size()); // for which there is room
  check(native.Ibcast(_bytes.data(), static_cast<int>(_bytes.size()), native.byte, 0, comm,
                      &_request));
}

void Replanner::swap_tables(Chooser& chooser) {
  std::shared_ptr<const planner::Table> table = chooser.table();
  chooser.use(std::exchange(_old_table, std::move(table)));
}

/// Lets the new table hold, or the one before it. What holds is compared with what held.
void Replanner::change(Races& races, Chooser& chooser, bool back) {
  if (!back) _old_table = std::move(_table);
  swap_tables(chooser);
  const bool is_taken_back = back && !_state.looks_for_recovery();
  if (leads()) {
    if (!back) _before = std::exchange(_next, std::nullopt);
    std::swap(_changed, _before);
    // The network didn't change like that.
    if (is_taken_back && !_attempts.back().is_recovery) _before.reset();
    if (_attempts.back().adopted == 0) _attempts.back().adopted = _state.calls();
  }
  _bytes.clear();
  _compares = !is_taken_back;
  _adopted_at = races.epochs();
  _changed_at = _state.calls();
  for (Seen& seen : _seen)
    seen.incoming.clear();
  races.restart(_compares);
}

void Replanner::end() {
  if (is_open()) native.Wait(&_request, MPI_STATUS_IGNORE);
  _thread.reset();
}

} // namespace thalweg::runtime
