#include "runtime/adapt/race.hpp"

#include "units/hash.hpp"

#include <algorithm>
#include <limits>

namespace thalweg::runtime {
namespace {

using collective::Rank;

constexpr std::int64_t most_cost_ns = std::int64_t{1} << 40;
constexpr std::uint64_t most_counted = std::uint64_t{1} << 22;
constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t lost_share = 50; ///< a fiftieth is 2 %
constexpr std::int64_t lost_before = 4; ///< times the loss is weighed by of what lost a race before
constexpr std::int64_t better_percent = 105;         ///< what a challenger must beat
constexpr std::int64_t native_better_percent = 103;  ///< the same, if it is native
constexpr std::int64_t worse_percent = 105;          ///< of what the plan before took
constexpr std::int64_t clearly_better_percent = 120; ///< what one round is enough for
constexpr std::int64_t suspicious_percent = 125;     ///< of what it took, or the inverse
constexpr std::int64_t clock_share = 10;             ///< an error may be a tenth of the time
constexpr std::int64_t most_between_permille = 125;  ///< where calls follow each other at once

} // namespace

bool Race::needs_clocks() const { return !collective::synchronizes(_key.kind); }

Candidate Race::next() const {
  if (_phase == Phase::stopped) return _candidates.planned();
  if (is_idle() || is_complete()) return _incumbent;
  const bool challenges = _phase == Phase::trial || (_calls - _begin) / turn_calls % 2 == 0;
  return challenges ? _challenger : _incumbent;
}

bool Race::is_complete() const {
  if (_phase == Phase::trial) return _calls - _begin >= trial_calls;
  return _phase == Phase::round && _calls - _begin >= kept;
}

std::int64_t Race::urgency() const {
  const std::uint64_t calls = std::min(_calls - _looked, most_counted);
  return std::clamp<std::int64_t>(_weight, 1, most_cost_ns) * static_cast<std::int64_t>(calls);
}

std::array<Race::Turn, Race::kept / Race::turn_calls> Race::turns() const {
  std::array<Turn, kept / turn_calls> turns;
  if (_phase == Phase::round)
    for (std::size_t i = 0; i < turns.size(); ++i)
      turns[i] = {_begin + i * turn_calls + 1, turn_calls - 1,
                  i % 2 == 0 ? _challenger : _incumbent};
  else if (_phase == Phase::trial)
    turns[0] = {_begin + 1, trial_calls - 1, _challenger};
  else
    turns[0] = {_calls - watched_calls, watched_calls, _incumbent};
  return turns;
}

Share Race::share(const CallTimes& times, Rank rank) const {
  if (!by_clocks()) return {times.exit_ns - times.enter_ns, 0};
  if (!begins_at_root(_key.kind)) return {-times.enter_ns, -times.exit_ns};
  return {rank == _key.root ? times.enter_ns : std::numeric_limits<std::int64_t>::max(),
          -times.exit_ns};
}

void Race::Costs::add(std::int64_t cost_ns, std::size_t calls) {
  std::fill_n(ns.begin() + static_cast<std::ptrdiff_t>(count), calls,
              std::clamp<std::int64_t>(cost_ns, 1, most_cost_ns));
  count += calls;
}

void Race::Costs::sort() { std::sort(ns.begin(), ns.begin() + static_cast<std::ptrdiff_t>(count)); }

/// Times between calls are mostly those of a program that computes, and ranks that compute longer
/// than others would seem to be slow calls.
bool Race::are_in_a_row() const { return _facts.between_permille <= most_between_permille; }

std::int64_t Race::between_permille() const {
  std::int64_t most = 0;
  for (const Turn& turn : turns()) {
    std::int64_t inside = 0;
    for (std::uint64_t call = turn.first; call < turn.first + turn.calls; ++call)
      inside += _times[call % kept].exit_ns - _times[call % kept].enter_ns;
    const std::int64_t all = turn.calls > 0 ? end_of(turn) - begin_of(turn) : 0;
    if (all > 0) most = std::max(most, 1000 * std::clamp<std::int64_t>(all - inside, 0, all) / all);
  }
  return most;
}

/// The first call only tells when the next one can begin.
void Race::add_by_clocks(Costs& costs, std::span<const Share> turn) const {
  std::int64_t begin_ns = -turn.front().second;
  for (const Share& call : turn.subspan(1)) {
    const std::int64_t enter_ns = begins_at_root(_key.kind) ? call.first : -call.first;
    costs.add(-call.second - std::max(enter_ns, begin_ns));
    begin_ns = -call.second;
  }
}

void Race::add_least(Costs& costs, std::span<const Share> turn) const {
  costs.add(turn.back().first / static_cast<std::int64_t>(turn.size()), turn.size());
}

void Race::add_in_a_row(Costs& costs, std::span<const Share> turn) const {
  costs.add(-turn.front().first / static_cast<std::int64_t>(turn.size()), turn.size());
}

ByCandidate<Race::Costs> Race::costs(std::span<const Share, most_shares> shares,
                                     AddCosts add) const {
  ByCandidate<Costs> result;
  std::size_t at = 0;
  for (const Turn& turn : turns()) {
    if (turn.calls == 0) continue;
    (this->*add)(result[turn.candidate], shares.subspan(at, turn.calls));
    at += turn.calls;
  }
  for (Costs& each : result.values)
    each.sort();
  return result;
}

/// What a rank spends in a call depends on when it comes, so it is compared with its own.
void Race::end_window() {
  _window_calls = 0;
  const std::uint64_t first = _calls - window_calls;
  std::int64_t spent = 0;
  for (std::uint64_t call = first; call < _calls; ++call)
    spent += _times[call % kept].exit_ns - _times[call % kept].enter_ns;
  const auto usual = static_cast<std::int64_t>(window_calls) * _usual_ticks;
  if (spent > usual / 100 * suspicious_percent || usual > spent / 100 * suspicious_percent) return;
  _calm_so_far_ticks += _times[(_calls - 1) % kept].exit_ns - _times[first % kept].enter_ns;
}

void Race::agree(std::span<const Share, most_shares> shares, const RaceFacts& facts) {
  _looked = _calls;
  _facts = facts;
  ByCandidate<Costs> all = costs(shares, by_clocks() ? &Race::add_by_clocks : &Race::add_least);
  const Candidate timed = is_idle() ? _incumbent : _challenger;
  if (are_in_a_row() && !(by_clocks() && are_clocks_good(all[timed].median())))
    all = costs(shares, &Race::add_in_a_row);
  const std::int64_t timed_ns = all[timed].median();
  if (!is_idle() && !can_tell(timed_ns)) return settle();
  switch (_phase) {
  case Phase::idle:
    if (!changes_measure(timed_ns)) look_at(timed_ns);
    return;
  case Phase::trial:
    return try_out(all[timed].ns[0]);
  case Phase::round:
    return compare(all);
  case Phase::stopped:
    break;
  }
}

/// Whether an error of the clocks is little of what a call seems to cost.
bool Race::are_clocks_good(std::int64_t cost_ns) const {
  return _facts.clock_error_ns <= cost_ns / clock_share;
}

/// Whether calls can be compared by what they seem to cost.
bool Race::can_tell(std::int64_t cost_ns) const {
  return are_in_a_row() || !needs_clocks() || are_clocks_good(cost_ns);
}

/// Gives up clocks that aren't good enough, for good: calls that drift take longer, and would be
/// measured otherwise than before. What was observed by clocks isn't compared with any more; a
/// race's costs are kept for reports and as what to expect.
bool Race::changes_measure(std::int64_t cost_ns) {
  if (needs_clocks() || !_uses_clocks || are_in_a_row() || are_clocks_good(cost_ns)) return false;
  _uses_clocks = false;
  _won_ns = _plan_before_ns = 0;
  _off_looks = 0;
  _watch.restart();
  return true;
}

void Race::look_at(std::int64_t incumbent_ns) {
  _cost_ns[_incumbent] = incumbent_ns;
  const bool had_drifted = _watch.has_drifted();
  if (_incumbent == Candidate::plan) look_at_plan();
  const bool is_off = _won_ns > 0 && (incumbent_ns > _won_ns / 100 * suspicious_percent ||
                                      incumbent_ns / 100 * suspicious_percent < _won_ns);
  _off_looks = is_off ? _off_looks + 1 : 0;
  if (_off_looks == _needed_looks) {
    _is_alarmed = true;
    if (_incumbent != Candidate::native) _challenger = Candidate::native;
    _next_race = std::min(_next_race, _calls);
    _won_ns = incumbent_ns;
  }
  // A drift that races would put off; what is predicted may be wrong from the beginning.
  const bool may_drift = _watch.usual_ns() > 0 && _watch.is_off() && !had_drifted;
  if (!is_due() || (_incumbent == Candidate::plan && may_drift)) return;
  if (!can_tell(incumbent_ns)) return settle();
  begin_race();
}

/// Returns what the challenger is expected to take: what it took in its last race, else what is
/// predicted of native. A second plan is expected to be no worse than what it replaces; the first
/// one, which lost in an earlier run, half as fast.
std::int64_t Race::expected_ns() const {
  if (_cost_ns[_challenger] > 0) return _cost_ns[_challenger];
  switch (_challenger) {
  case Candidate::plan:
    return 2 * _cost_ns[_incumbent];
  case Candidate::native:
    return facts().predicted_native_ns; // 0, where nothing is known: no worse
  case Candidate::second:
    break;
  }
  return _cost_ns[_incumbent];
}

/// Begins with the first challenger in turn that can be afforded, or waits until one can.
void Race::begin_race() {
  std::uint64_t soonest = never;
  const Candidate first = _challenger;
  do {
    const bool is_known = _cost_ns[_challenger] > 0;
    const auto calls = static_cast<std::int64_t>(trial_calls + (is_known ? kept / 2 : 0));
    const std::int64_t loss_ns = (is_known ? lost_before : 1) * calls * excess_ns(expected_ns());
    if (affords(loss_ns)) {
      ++_races;
      _rounds = _better_rounds = _clear_rounds = 0;
      return begin(Phase::trial);
    }
    soonest = std::min(soonest, calls_to_afford(loss_ns));
    _challenger = next_challenger();
  } while (_challenger != first);
  _next_race = soonest;
}

Candidate Race::next_challenger() const {
  const Candidate next = _candidates.after(_challenger);
  return next == _incumbent ? _candidates.after(next) : next;
}

/// Notices drift, and whether the plan is better than the one that it replaced. Where connections
/// stall and catch up, as on a link that drops what it can't carry, a median of few calls is that
/// of the quick ones; the mean of all calls isn't.
void Race::look_at_plan() {
  const std::int64_t mean_ns = is_idle() ? facts().mean_ns : 0;
  const std::int64_t plan_ns = std::max(_cost_ns[Candidate::plan], mean_ns);
  if (_plan_before_ns > 0) _is_worse = plan_ns > _plan_before_ns / 100 * worse_percent;
  _plan_before_ns = 0;
  _watch.look(plan_ns, facts().predicted_plan_ns, facts().elapsed_ns, needs_clocks(),
              facts().calm_ns);
  if (!_watch.is_off()) _usual_ticks = _mean_ticks;
}

void Race::try_out(std::int64_t challenger_ns) {
  _cost_ns[_challenger] = challenger_ns;
  lose(trial_calls, challenger_ns);
  const std::int64_t loss_ns = static_cast<std::int64_t>(kept / 2) * excess_ns(challenger_ns);
  if (affords(loss_ns)) return begin(Phase::round);
  decide(_incumbent);
}

void Race::compare(const ByCandidate<Costs>& all) {
  const Costs& held = all[_incumbent];
  const Costs& tried = all[_challenger];
  _cost_ns[_incumbent] = held.median();
  _cost_ns[_challenger] = tried.median();
  lose(kept / 2, tried.median());
  if (_incumbent == Candidate::plan || _challenger == Candidate::plan) look_at_plan();
  ++_rounds;
  const auto is_better_by = [&](std::int64_t percent) {
    return tried.median() * percent <= held.median() * 100;
  };
  const bool is_better =
      is_better_by(_challenger == Candidate::native ? native_better_percent : better_percent);
  // One outlier of each is allowed.
  const bool lies_beyond = tried.ns[tried.count - 2] < held.ns[1];
  if (is_better) ++_better_rounds;
  if (is_better && lies_beyond) ++_clear_rounds;
  if (_clear_rounds == 2 || (_clear_rounds == 1 && is_better_by(clearly_better_percent)) ||
      _better_rounds == most_rounds)
    return decide(_challenger);
  const std::int64_t loss_ns = static_cast<std::int64_t>(kept / 2) * excess_ns(tried.median());
  if (is_better && _rounds < most_rounds && affords(loss_ns)) return begin(Phase::round);
  decide(_incumbent);
}

void Race::begin(Phase phase) {
  _phase = phase;
  _begin = _calls;
}

void Race::settle() {
  _phase = Phase::idle;
  _settled = _counted_from = _calls;
  _spent_ticks = 0;
  _next_race = 2 * _calls;
  _off_looks = 0;
}

/// An alarm that changed nothing must be confirmed by twice as many looks the next time.
void Race::decide(Candidate winner) {
  if (winner != _incumbent)
    _needed_looks = least_off_looks;
  else if (_is_alarmed)
    _needed_looks = std::min(2 * _needed_looks, most_off_looks);
  _is_alarmed = false;
  _kept = std::min(_kept + 1, most_verdicts);
  _verdicts[_kept - 1] = {_calls, winner, winner == _incumbent ? _challenger : _incumbent,
                          _cost_ns};
  _incumbent = winner;
  _challenger = next_challenger();
  _won_ns = _cost_ns[winner];
  settle();
}

void Race::restart(bool compares) {
  if (_phase == Phase::stopped) return;
  settle();
  _plan_before_ns = compares ? _watch.most_ns() : 0;
  _is_worse = false;
  _cost_ns[Candidate::plan] = 0;
  _won_ns = 0;
  _incumbent = _candidates.planned();
  _challenger = _candidates.after(_incumbent);
  _next_race = _calls;
  restart_watch();
}

void Race::stop() {
  _phase = Phase::stopped;
  _incumbent = _candidates.planned();
  _next_race = never;
}

std::int64_t Race::excess_ns(std::int64_t challenger_ns) const {
  return std::clamp<std::int64_t>(challenger_ns - _cost_ns[_incumbent], 0, most_cost_ns);
}

void Race::lose(std::uint64_t calls, std::int64_t challenger_ns) {
  _lost_ns += static_cast<std::int64_t>(calls) * excess_ns(challenger_ns);
}

std::uint64_t Race::calls_to_afford(std::int64_t loss_ns) const {
  if (loss_ns == 0) return 0;
  const std::int64_t lost_ns = std::min(_lost_ns, std::int64_t{1} << 55) + loss_ns;
  return static_cast<std::uint64_t>(lost_ns * lost_share /
                                    std::max<std::int64_t>(1, _cost_ns[_incumbent]));
}

std::uint64_t Race::hash() const {
  Fnv1a result;
  const auto add = [&](std::uint64_t value) { result.add_number(value); };
  add(static_cast<std::uint64_t>(_key.kind));
  add(static_cast<std::uint64_t>(_key.root));
  add(static_cast<std::uint64_t>(_key.band));
  add(static_cast<std::uint64_t>(_incumbent));
  add(static_cast<std::uint64_t>(_challenger));
  add(static_cast<std::uint64_t>(_phase));
  for (const std::uint64_t value : {_calls, _begin, _settled, _next_race, _watch.state()})
    add(value);
  add(_uses_clocks ? 1 : 0);
  add(static_cast<std::uint64_t>(_needed_looks));
  return result.value();
}

} // namespace thalweg::runtime
