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
constexpr std::uint64_t most_epochs_to_compare = 64;
/// What clocks may drift apart: 10 ppm.
constexpr std::int64_t drift_share = 100'000;

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

bool has_counted(std::span<const PairTimes> sums) {
  return std::ranges::any_of(
      sums, [](const PairTimes& times) { return times.sends + times.receives > 0; });
}

} // namespace

Replanner::Replanner(const Network& network, std::string library, network::Placement placement,
                     collective::Rank rank, const observe::ClockReading& clock)
    : _plan_network(network), _library(std::move(library)), _placement(std::move(placement)),
      _rank(rank), _clock(clock), _hosts(hosts_of(_placement)),
      _own_host(positions(_placement, _hosts)[index(rank)]),
      _log(positions(_placement, _hosts), rank, clock.offset_ns) {
  _seen.reserve(Races::most_races);
  if (leads()) _attempts.reserve(most_attempts); // no memory is needed where ranks go on alike
}

std::string Replanner::before_call(MPI_Comm comm, Races& races, Chooser& chooser, bool may_change) {
  act(_state.enter(may_change), comm, races, chooser);
  if (!_state.has_begun_before() || !_state.is_late(Races::least_patience)) return {};
  return go_on(comm, races, chooser, may_change);
}

std::string Replanner::go_on(MPI_Comm comm, Races& races, Chooser& chooser, bool may_change) {
  std::string said = finish();
  act(_state.next(may_change), comm, races, chooser);
  return said;
}

void Replanner::act(Act act, MPI_Comm comm, Races& races, Chooser& chooser) {
  switch (act) {
  case Act::nothing:
    return;
  case Act::collect:
    if (leads()) _observations = observations(races, chooser);
    return begin_collection(comm);
  case Act::agree:
    return begin_agreement(comm);
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
    if (leads()) start_planning();
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
  if (attempt.is_recovery && outcome == Replanning::Outcome::nothing_better) {
    _attempts.pop_back(); // as was to be expected
    _observations.reset();
    return {};
  }
  if (_thread != nullptr && _thread->answer() != Replanning::busy) {
    Replan result = _thread->take_result(); // moved, since there may be no memory
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
  const Race& race = races.all()[*at];
  if (_compares && *at == _state.race() && race.watch().cost_ns() > 0) {
    _compares = false;
    if (leads() && !_attempts.empty()) {
      _attempts.back().after_ns = race.watch().cost_ns();
      _attempts.back().was_worse = race.has_worse_plan();
    }
    if (race.has_worse_plan()) return _state.go_back();
  }
  // What was adopted is compared first, unless its calls don't come any more.
  if (_compares && races.epochs() < _adopted_at + most_epochs_to_compare) return;
  _compares = false;
  const auto drifted = races.drifted();
  if (!drifted) {
    if (race.incumbent() != Candidate::plan) return;
    if (race.watch().is_off()) return forget(*at);
    if (_state.look_for_recovery(*at, races.elapsed_ns()))
      begin_attempt(races, *at);
    else
      fold(*at);
    return;
  }
  const Watch& watch = races.all()[*drifted].watch();
  if (!_state.suspect(*drifted, watch.is_slower(), races.elapsed_ns())) return;
  begin_attempt(races, *drifted);
  races.settle_watch(*drifted);
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
}

/// What was observed since the last look belongs to the usual state. While plans avoid something,
/// this is what was observed first, which tells when that recovers.
void Replanner::fold(std::size_t race) {
  if (race >= _seen.size()) return;
  Seen& seen = _seen[race];
  if (!_state.may_recover() ||
      !(has_counted(seen.before.outgoing) || has_counted(seen.before.incoming))) {
    seen.before.outgoing.swap(seen.since.outgoing);
    seen.before.incoming.swap(seen.since.incoming);
  }
  forget(race);
}

/// Part of what was observed since the last look may be from before the network changed.
void Replanner::forget(std::size_t race) {
  if (race >= _seen.size()) return;
  for (auto* const sums : {&_seen[race].since.outgoing, &_seen[race].since.incoming})
    std::ranges::fill(*sums, PairTimes{});
}

observe::PairTimesLog* Replanner::log(const Races& races, const Race& race, units::Size size) {
  const auto at = static_cast<std::size_t>(&race - races.all().data());
  try {
    if (_seen.size() <= at) _seen.resize(at + 1);
    Seen& seen = _seen[at];
    seen.size = size;
    if (race.calls() < first_calls || _state.calls() < _changed_at + first_calls) return nullptr;
    // Where a rank has no memory for that, sends and receives differ in number, and don't count.
    for (auto* const sums :
         {&seen.since.outgoing, &seen.since.incoming, &seen.before.outgoing, &seen.before.incoming})
      sums->resize(_hosts.size() * PairTimes::classes);
    _log.calibrate();
    _log.count_in(seen.since.outgoing, seen.since.incoming);
    return &_log;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void Replanner::begin_agreement(MPI_Comm comm) {
  std::int64_t answer = Replanning::nothing;
  if (_thread != nullptr) answer = _thread->answer();
  const bool is_well = prepare();
  _own = _state.record(leads(), answer, is_well, _content);
  check(native.Iallreduce(_own.data(), _all.data(), static_cast<int>(_own.size()), native.int64,
                          native.min, comm, &_request));
}

/// Does what this rank has to do before the ranks agree that all have. Returns whether it could.
bool Replanner::prepare() {
  try {
    switch (_state.stage()) {
    case Stage::preparing:
      return make_room();
    case Stage::allocating:
      _bytes.reserve(_state.size());
      return true;
    case Stage::checking:
      return read_table();
    default:
      return true;
    }
  } catch (const std::exception&) {
    return false;
  }
}

bool Replanner::make_room() {
  const std::size_t size = 2 * PairTimes::fields * sums_of_pairs();
  _sums.resize(size);
  if (leads()) {
    _all_sums.resize(size);
    if (_thread == nullptr) _thread = std::make_unique<PlanningThread>();
  }
  _bytes.reserve(static_cast<std::size_t>(Replanning::room));
  return true;
}

bool Replanner::read_table() {
  auto table =
      std::make_shared<planner::Table>(planner::table_from_bytes(std::as_bytes(std::span(_bytes))));
  table->placement = _placement;
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
    seen->looks_for_recovery = attempt.is_recovery;
    seen->error_ns = _clock.error_ns;
    seen->drift_ns = (observe::monotonic_ns() - _clock.at_ns) / drift_share;
    for (std::size_t i = 0; i < std::min(races.all().size(), _seen.size()); ++i) {
      const Race& race = races.all()[i];
      const CalledShape shape{race.key(), _seen[i].size, race.calls()};
      if (i == _state.race())
        seen->shape = shape;
      else
        seen->others.push_back(shape);
    }
    return seen;
  } catch (const std::exception&) {
    return nullptr;
  }
}

void Replanner::begin_collection(MPI_Comm comm) {
  std::ranges::fill(_sums, 0);
  if (_state.race() < _seen.size()) {
    put(_seen[_state.race()].before, 0);
    put(_seen[_state.race()].since, _sums.size() / 2);
    fold(_state.race());
  }
  check(native.Ireduce(_sums.data(), _all_sums.data(), static_cast<int>(_sums.size()),
                       native.uint64, native.sum, 0, comm, &_request));
}

/// Puts what this rank knows in its place among all pairs of hosts.
void Replanner::put(const Seen::Sums& sums, std::size_t at) {
  constexpr std::size_t fields = PairTimes::fields * PairTimes::classes; // of a pair
  const std::size_t hosts = _hosts.size(), own = index(_own_host);
  const auto place = [&](std::size_t from, std::size_t to, const std::vector<PairTimes>& of_hosts,
                         std::size_t host) {
    if (of_hosts.empty() || host == own) return;
    std::memcpy(&_sums[at + (from * hosts + to) * fields], &of_hosts[host * PairTimes::classes],
                fields * sizeof(std::uint64_t));
  };
  for (std::size_t host = 0; host < hosts; ++host) {
    place(own, host, sums.outgoing, host);
    place(host, own, sums.incoming, host);
  }
}

void Replanner::start_planning() {
  _thread->stop(); // Its answer is that nothing is better, unless it is started.
  if (_observations == nullptr) return;
  try {
    const std::size_t pairs = sums_of_pairs();
    for (auto* const times : {&_observations->before, &_observations->since})
      times->resize(pairs);
    std::memcpy(static_cast<void*>(_observations->before.data()), _all_sums.data(),
                pairs * sizeof(PairTimes));
    std::memcpy(static_cast<void*>(_observations->since.data()), &_all_sums[_all_sums.size() / 2],
                pairs * sizeof(PairTimes));
  } catch (const std::bad_alloc&) {
    return;
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

/// Lets the new table hold, or the one before it.
void Replanner::change(Races& races, Chooser& chooser, bool back) {
  if (back) {
    chooser.use(_old_table);
    if (leads()) _changed = std::exchange(_before, std::nullopt);
  } else {
    _old_table = chooser.table();
    chooser.use(std::move(_table));
    if (leads()) {
      _before = std::exchange(_changed, std::exchange(_next, std::nullopt));
      _attempts.back().adopted = _state.calls();
    }
  }
  _bytes.clear();
  _compares = !back;
  _adopted_at = races.epochs();
  _changed_at = _state.calls();
  for (Seen& seen : _seen)
    seen.before = seen.since = {};
  races.restart(!back);
}

void Replanner::end() {
  if (is_open()) native.Wait(&_request, MPI_STATUS_IGNORE);
  _thread.reset();
}

} // namespace thalweg::runtime
