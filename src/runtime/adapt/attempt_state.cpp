#include "runtime/adapt/attempt_state.hpp"

#include "units/hash.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thalweg::runtime {
namespace {

/// The fields of a ReplanRecord.
struct Said {
  enum Field : std::uint8_t { state, negative_state, answer, well, both, improving };
};

constexpr std::int64_t least_gain = 20; ///< thousandths
/// An improvement isn't urgent: the leader is asked after so many usual distances.
constexpr std::uint64_t patient_distances = 8;
constexpr std::int64_t longest_rest_ns = std::int64_t{1} << 55;

} // namespace

AttemptState::Act AttemptState::next(bool may_change) {
  if (is_open()) return Act::nothing;
  if (_is_dismissed) drop();
  Act act = Act::nothing;
  switch (_stage) {
  case Stage::calm:
  case Stage::off:
    return Act::nothing;
  case Stage::adopting:
  case Stage::returning:
    if (!may_change) return Act::nothing;
    act = _stage == Stage::adopting ? Act::adopt : Act::go_back;
    ++_generation;
    _stage = Stage::calm;
    return act;
  case Stage::trying:
    if (_next == 0) {
      _next = _calls + trial_calls;
      return Act::try_before;
    }
    [[fallthrough]];
  case Stage::observing:
    if (_calls < _next) return Act::nothing;
    _stage = Stage::collecting;
    [[fallthrough]];
  case Stage::collecting:
    act = Act::collect;
    break;
  case Stage::improving:
    collected(); // what is needed is the leader's own
    return Act::plan;
  case Stage::planning:
    if (_calls < _next) return Act::nothing;
    act = Act::agree;
    break;
  case Stage::allocating:
    if (!_is_confirmed) return Act::nothing;
    [[fallthrough]];
  case Stage::preparing:
  case Stage::checking:
    act = Act::agree;
    break;
  case Stage::sharing:
    if (!_is_confirmed) return Act::nothing;
    act = Act::share;
    break;
  }
  _open.begin(_calls);
  return act;
}

bool AttemptState::suspect(std::size_t race, bool slower, std::int64_t now_ns, bool is_confirmed) {
  if (_stage != Stage::calm || !_is_prepared || (_has_ended && now_ns < _changed_ns + _rest_ns))
    return false;
  if (!is_confirmed && now_ns < _suspects_ns) return false;
  begin(Purpose::drift, is_confirmed ? Stage::collecting : Stage::observing, race, slower, now_ns);
  _is_confirmed = is_confirmed;
  if (!is_confirmed) _next = _calls + observed_calls;
  return true;
}

void AttemptState::dismiss(std::int64_t now_ns) {
  _is_dismissed = true;
  rest_from_suspicions(now_ns);
}

void AttemptState::rest_from_suspicions(std::int64_t now_ns) {
  _suspects_ns = now_ns + _doubt_ns;
  _doubt_ns = std::min(2 * _doubt_ns, longest_rest_ns);
}

void AttemptState::drop() {
  _is_dismissed = false;
  _is_confirmed = true;
  _stage = Stage::calm;
}

bool AttemptState::look_for_recovery(std::size_t race, std::int64_t now_ns) {
  if (!_may_recover || race != _race || _stage != Stage::calm) return false;
  if (now_ns < _changed_ns + _rest_ns || now_ns < _look_ns) return false;
  _look_ns = now_ns + pause_ns(now_ns);
  begin(Purpose::recovery, Stage::trying, race, false, now_ns);
  return true;
}

/// While plans avoid what became slow, those before are kept for its recovery.
bool AttemptState::improve(std::size_t race, std::int64_t now_ns) {
  const std::uint64_t bit = std::uint64_t{1} << race;
  if (_stage != Stage::calm || !_is_prepared || _may_recover || (_improved & bit) != 0)
    return false;
  if (now_ns < _improved_ns + improvement_pause_ns) return false;
  if (now_ns / improvement_share < _improving_ns + _last_improvement_ns) return false;
  _improved |= bit;
  _improved_ns = now_ns;
  begin(Purpose::improvement, Stage::improving, race, false, now_ns);
  return true;
}

void AttemptState::expect(std::int64_t call_ns) {
  const auto calls =
      static_cast<std::uint64_t>(question_pause_ns / std::max<std::int64_t>(1, call_ns));
  _usual_distance = std::clamp(calls, least_distance, most_distance);
  if (_stage == Stage::planning)
    _next = std::min(_next, _calls + patient_distances * _usual_distance);
}

void AttemptState::compare(std::int64_t usual_ns, std::int64_t before_ns, std::int64_t after_ns) {
  const auto calls = static_cast<std::int64_t>(trial_calls);
  _trial_ns = calls * std::clamp<std::int64_t>(before_ns - after_ns, 1, longest_look_ns);
  const std::int64_t share = 1000 * usual_ns / std::max<std::int64_t>(1, after_ns);
  _gain = std::clamp<std::int64_t>(1000 - share, least_gain, 1000);
}

/// Returns the pause p until the next trial. After a time t recoveries come at a rate of 1 / t, so
/// that trials cost trial / p, and what is noticed late gain p / (2 t) of the time.
std::int64_t AttemptState::pause_ns(std::int64_t now_ns) const {
  if (_trial_ns == 0) return least_rest_ns;
  const auto lasted_ns = static_cast<double>(now_ns - _changed_ns);
  const double best_ns =
      std::sqrt(2e3 * static_cast<double>(_trial_ns) * lasted_ns / static_cast<double>(_gain));
  return static_cast<std::int64_t>(std::clamp(best_ns, static_cast<double>(least_look_ns),
                                              static_cast<double>(longest_look_ns)));
}

void AttemptState::begin(Purpose purpose, Stage stage, std::size_t race, bool slower,
                         std::int64_t now_ns) {
  _purpose = purpose;
  _stage = stage;
  _next = 0;
  _outcome = Outcome::none;
  _race = race;
  _slower = slower;
  _now_ns = now_ns;
  _is_confirmed = true;
  _suits_both = _comes_and_goes = false;
}

void AttemptState::collected() {
  _open.close();
  _stage = Stage::planning;
  _distance = (_purpose == Purpose::improvement ? patient_distances : 1) * _usual_distance;
  _next = _calls + _distance;
}

ReplanRecord AttemptState::record(bool leads, std::int64_t answer, bool suits_both,
                                  bool all_is_well, std::uint64_t content,
                                  std::int64_t improving_ns) const {
  std::int64_t own = hash();
  if (_stage == Stage::checking && all_is_well) own ^= static_cast<std::int64_t>(content >> 2);
  ReplanRecord result{};
  result[Said::state] = own;
  result[Said::negative_state] = -own;
  result[Said::answer] = leads ? answer : std::numeric_limits<std::int64_t>::max();
  result[Said::well] = all_is_well ? 1 : 0;
  result[Said::both] = !leads || suits_both ? 1 : 0;
  result[Said::improving] = leads ? improving_ns : std::numeric_limits<std::int64_t>::max();
  return result;
}

bool AttemptState::agree(const ReplanRecord& all) {
  _open.close();
  const bool is_well = all[Said::well] != 0;
  // Ranks that couldn't read the table don't know its hash.
  const bool may_differ = _stage == Stage::checking && !is_well;
  if (all[Said::state] != -all[Said::negative_state] && !may_differ) {
    _stage = Stage::off;
    return false;
  }
  note_improving(all[Said::improving]);
  if (_is_dismissed) return true;
  switch (_stage) {
  case Stage::planning:
    follow(all[Said::answer], all[Said::both] != 0);
    return true;
  case Stage::preparing:
    _is_prepared = is_well;
    if (is_well)
      _stage = Stage::calm;
    else
      end(Outcome::no_memory);
    return true;
  case Stage::allocating:
    if (is_well)
      _stage = Stage::sharing;
    else
      end(Outcome::no_memory);
    return true;
  case Stage::checking:
    if (!is_well) {
      end(Outcome::unreadable);
      return true;
    }
    end(Outcome::adopted);
    _stage = Stage::adopting;
    return true;
  default:
    return true;
  }
}

/// @param ns what improvements have taken so far
void AttemptState::note_improving(std::int64_t ns) {
  if (ns <= _improving_ns) return;
  _last_improvement_ns = ns - _improving_ns;
  _improving_ns = ns;
}

/// Goes on with the leader's answer, of the stage `planning`.
void AttemptState::follow(std::int64_t answer, bool suits_both) {
  _distance = std::min(2 * _distance, patient_distances * _usual_distance);
  _next = _calls + _distance;
  if (answer == busy) return;
  _size = answer;
  _suits_both = suits_both;
  if (_size <= 0) return end(Outcome::nothing_better);
  if (_purpose != Purpose::recovery) {
    _stage = _size <= room ? Stage::sharing : Stage::allocating;
    return;
  }
  end(Outcome::adopted);
  _stage = Stage::returning;
}

void AttemptState::shared() {
  _open.close();
  _stage = Stage::checking;
}

void AttemptState::go_back() {
  if (_stage != Stage::calm) return;
  _stage = Stage::returning;
  _is_confirmed = true;
  // After a recovery, the plans come back that avoid what hasn't recovered, after all.
  _may_recover = _purpose == Purpose::recovery;
  if (_may_recover) _purpose = Purpose::drift;
  _rest_ns = std::min(2 * _rest_ns, longest_rest_ns); // What was worse would be so again.
}

/// Ends an attempt. One in vain is followed by a pause, too, so that it isn't made again at once.
void AttemptState::end(Outcome outcome) {
  _stage = Stage::calm;
  _outcome = outcome;
  if (!_is_confirmed) rest_from_suspicions(_now_ns);
  // Confirmed ones don't wait for that.
  if (_purpose == Purpose::improvement || !_is_confirmed) return;
  if (_purpose == Purpose::recovery && outcome != Outcome::adopted) return;
  const bool returned = _generation > 0 && _slower != _was_slower && outcome == Outcome::adopted &&
                        _now_ns < _changed_ns + 2 * _rest_ns;
  if (returned) _rest_ns = std::min(2 * _rest_ns, longest_rest_ns);
  _was_slower = _slower;
  _changed_ns = _now_ns;
  _has_ended = true;
  if (outcome != Outcome::adopted) return;
  // What comes and goes is taken to do so from now on.
  _may_recover = _slower && !_comes_and_goes;
  _look_ns = 0;
  _trial_ns = 0;
}

std::int64_t AttemptState::hash() const {
  Fnv1a result;
  for (const std::uint64_t value : {_calls,
                                    _next,
                                    _generation,
                                    std::uint64_t{_race},
                                    static_cast<std::uint64_t>(_stage),
                                    static_cast<std::uint64_t>(_size),
                                    static_cast<std::uint64_t>(_changed_ns),
                                    static_cast<std::uint64_t>(_rest_ns),
                                    static_cast<std::uint64_t>(_look_ns),
                                    static_cast<std::uint64_t>(_trial_ns),
                                    static_cast<std::uint64_t>(_gain),
                                    std::uint64_t{_may_recover},
                                    static_cast<std::uint64_t>(_purpose),
                                    std::uint64_t{_is_confirmed},
                                    std::uint64_t{_is_dismissed},
                                    std::uint64_t{_suits_both},
                                    std::uint64_t{_comes_and_goes},
                                    static_cast<std::uint64_t>(_suspects_ns),
                                    static_cast<std::uint64_t>(_doubt_ns),
                                    _improved,
                                    static_cast<std::uint64_t>(_improved_ns),
                                    static_cast<std::uint64_t>(_improving_ns),
                                    static_cast<std::uint64_t>(_last_improvement_ns),
                                    std::uint64_t{_is_prepared}})
    result.add_number(value);
  return static_cast<std::int64_t>(result.value() >> 2);
}

} // namespace thalweg::runtime
