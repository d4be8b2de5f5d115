#include "runtime/adapt/races.hpp"

#include "units/hash.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>
#include <tuple>

namespace thalweg::runtime {
namespace {

constexpr std::uint64_t first_epoch = 24, first_distance = 16, least_distance = 8;
/// The most calls between two epochs, unless agreeing takes too long for that.
constexpr std::uint64_t most_distance = 512;
/// The most time between two epochs, unless calls or agreeing take too long for that.
constexpr std::int64_t usual_pause_ns = 1'000'000'000;
constexpr std::uint64_t stamina = 256;        ///< calls of all shapes until a race is given up
constexpr std::uint64_t long_ago = 1024;      ///< calls of all shapes since a race's last one
constexpr std::int64_t agreement_share = 200; ///< a two hundredth is 0.5 %
constexpr std::int64_t most_ns = std::int64_t{1} << 40;
constexpr std::uint64_t no_further = std::numeric_limits<std::uint64_t>::max();

/// What an EpochRecord consists of, before the shares.
enum Field : std::uint8_t {
  state, ///< and its negative: both minima tell whether all are equal
  negative_state,
  negative_cost,
  elapsed,
  predicted_plan,
  predicted_native,
  negative_clock_error,
  negative_between,
  mean,
  calm,
  first_share,
};
static_assert(first_share + 2 * Race::most_shares <= std::tuple_size_v<EpochRecord>);

} // namespace

Races::Races(std::vector<Won> won, bool has_clocks)
    : _won(std::move(won)), _most_won(_won.size() + most_races), _has_clocks(has_clocks),
      _next(first_epoch), _distance(first_distance) {
  // No memory is needed later, which one rank might not get.
  _races.reserve(most_races);
  _won.reserve(_most_won);
}

Race* Races::find(const RaceKey& key) {
  if (_latest >= _races.size() || !(_races[_latest].key() == key)) {
    const auto found = std::ranges::find(_races, key, &Race::key);
    _latest = static_cast<std::size_t>(found - _races.begin());
    if (found == _races.end()) return nullptr;
  }
  _called[_latest] = _calls;
  return &_races[_latest];
}

Race* Races::add(const RaceKey& key, std::int64_t weight, Candidates candidates, bool may_replace) {
  const Race race(key, weight, candidates, begins_with(key, candidates), _has_clocks);
  std::size_t at = _races.size();
  if (at < most_races) {
    _races.push_back(race);
  } else {
    at = may_replace ? longest_unused() : none;
    if (at == none) return nullptr;
    keep(_races[at]);
    _races[at] = race;
    if (_looked_at == at) _looked_at.reset();
  }
  _latest = at;
  _called[at] = _calls;
  return &_races[at];
}

/// Returns what a race begins with: what won the one with the nearest sizes of the same class, or
/// else what is planned.
Candidate Races::begins_with(const RaceKey& key, Candidates candidates) const {
  Candidate best = candidates.planned();
  units::Size nearest = std::numeric_limits<units::Size>::max();
  const auto look_at = [&](const RaceKey& other, Candidate winner) {
    const units::Size distance = std::abs(key.band - other.band);
    if (!key.is_of_same_class(other) || distance >= nearest) return;
    nearest = distance;
    best = candidates.contains(winner) ? winner : candidates.planned();
  };
  for (const Won& won : _won)
    look_at(won.race, won.winner);
  for (const Race& race : _races)
    look_at(race.key(), race.incumbent());
  return best;
}

/// Returns the race whose calls haven't come for the longest time, if that is long.
std::size_t Races::longest_unused() const {
  std::size_t best = none;
  std::uint64_t last = _calls - std::min(_calls, long_ago);
  for (std::size_t i = 0; i < _races.size(); ++i) {
    if (i == _at || !_races[i].is_idle() || _called[i] >= last) continue;
    best = i;
    last = _called[i];
  }
  return best;
}

/// Keeps what is known of a race that is replaced: what it begins with if its calls come again, and
/// what is reported. The former needs no memory, since all ranks must know the same.
void Races::keep(const Race& race) {
  const auto known = std::ranges::find(_won, race.key(), &Won::race);
  const Won won{race.key(), race.incumbent()};
  if (known != _won.end())
    *known = won;
  else if (_won.size() < _most_won)
    _won.push_back(won);
  else
    _won[_kept++ % _most_won] = won;
  if (race.verdicts().empty()) return;
  bool has_room = _replaced.size() < most_replaced;
  try {
    if (has_room) _replaced.push_back(race);
  } catch (const std::bad_alloc&) {
    has_room = false;
  }
  if (!has_room) ++_left_out[race.incumbent()];
}

/// Looks for something to agree on.
bool Races::look() {
  if (_at != none && _races[_at].is_complete()) return true;
  if (_at != none) _races[_at].abandon();
  _at = suspicious();
  if (_at == none) _at = most_urgent(true);
  if (_at == none) _at = most_urgent(false);
  if (_at != none) return true;
  _next = _calls + least_distance;
  return false;
}

std::optional<std::size_t> Races::drifted() const {
  const auto found = std::ranges::find_if(_races, &Race::has_drifted);
  if (found == _races.end()) return std::nullopt;
  return static_cast<std::size_t>(found - _races.begin());
}

void Races::postpone(std::int64_t pause_ns) {
  if (_at != none || _next == no_further) return;
  if (pause_ns == 0)
    _next = std::min(_next, _calls + least_distance);
  else
    _next = std::max(_next, _begun + static_cast<std::uint64_t>(pause_ns / _call_ns));
}

void Races::restart(bool compares, const std::function<bool(const RaceKey&)>& is_meant) {
  if (_at != none) _races[_at].abandon();
  for (Race& race : _races)
    if (!is_meant || is_meant(race.key()) || race.incumbent() == race.candidates().planned())
      race.restart(compares);
    else
      race.restart_watch();
  _at = none;
  _looked_at.reset();
  if (_next == no_further) return;
  _distance = least_distance;
  _next = _calls + _distance;
}

/// @param due whether it must be time for a race
std::size_t Races::most_urgent(bool due) const {
  std::size_t best = none;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < _races.size(); ++i) {
    if (!_races[i].can_be_watched() || (due && !_races[i].is_due())) continue;
    if (const std::int64_t urgency = _races[i].urgency(); urgency > most) {
      most = urgency;
      best = i;
    }
  }
  return best;
}

/// Returns a race with an incumbent that was off at the last look.
std::size_t Races::suspicious() const {
  const auto found = std::ranges::find_if(_races, [](const Race& race) {
    return race.is_suspicious() && race.can_be_watched() && race.urgency() > 0;
  });
  return found == _races.end() ? none : static_cast<std::size_t>(found - _races.begin());
}

std::int64_t Races::hash() const {
  Fnv1a result(at().hash());
  for (const std::uint64_t value : {_calls, std::uint64_t{_at}, _epochs, _patience})
    result.add_number(value);
  return static_cast<std::int64_t>(result.value() >> 2);
}

EpochRecord Races::record(std::int64_t elapsed_ns, std::int64_t cost_ns, const RaceFacts& facts,
                          const std::array<Share, Race::most_shares>& shares) const {
  EpochRecord record{};
  record[state] = hash();
  record[negative_state] = -record[state];
  record[negative_cost] = -std::clamp<std::int64_t>(cost_ns, 0, most_ns);
  record[elapsed] = std::clamp<std::int64_t>(elapsed_ns, 0, most_ns);
  record[predicted_plan] = facts.predicted_plan_ns;
  record[predicted_native] = facts.predicted_native_ns;
  record[negative_clock_error] = -facts.clock_error_ns;
  record[negative_between] = -facts.between_permille;
  record[mean] = std::clamp<std::int64_t>(facts.mean_ns, 0, most_ns);
  record[calm] = std::clamp<std::int64_t>(facts.calm_ns, 0, most_ns);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    record[first_share + 2 * i] = shares[i].first;
    record[first_share + 2 * i + 1] = shares[i].second;
  }
  return record;
}

bool Races::agree(const EpochRecord& all) {
  if (all[state] != -all[negative_state]) {
    for (Race& race : _races)
      race.stop();
    _at = none;
    _next = no_further;
    return false;
  }
  ++_epochs;
  _elapsed_ns += all[elapsed];
  // A rank that once stood still for some time says little about the next agreement.
  const std::int64_t cost_ns = -all[negative_cost];
  if (_cost_ns < 0)
    _cost_ns = 0; // It was waited for earlier than the next ones will be.
  else
    _cost_ns = _cost_ns == 0 ? cost_ns : (_cost_ns + std::min(cost_ns, 4 * _cost_ns)) / 2;
  std::array<Share, Race::most_shares> shares{};
  for (std::size_t i = 0; i < shares.size(); ++i)
    shares[i] = {all[first_share + 2 * i], all[first_share + 2 * i + 1]};
  _races[_at].agree(shares, {.predicted_plan_ns = all[predicted_plan],
                             .predicted_native_ns = all[predicted_native],
                             .clock_error_ns = -all[negative_clock_error],
                             .elapsed_ns = all[elapsed],
                             .mean_ns = all[mean],
                             .calm_ns = all[calm],
                             .between_permille = -all[negative_between]});
  _looked_at = _at;
  schedule(all[elapsed]);
  return true;
}

/// Decides on the next epoch.
void Races::schedule(std::int64_t elapsed_ns) {
  const auto calls = static_cast<std::int64_t>(std::max<std::uint64_t>(1, _begun - _last));
  _call_ns = std::max<std::int64_t>(1, elapsed_ns / calls);
  const auto in_time = static_cast<std::uint64_t>(usual_pause_ns / _call_ns);
  const std::uint64_t wanted = std::max(std::min(_distance, in_time), least_distance);
  auto least = static_cast<std::uint64_t>(agreement_share * _cost_ns / _call_ns);
  if (least > wanted && _patience < most_patience) {
    _patience_ns = 2 * static_cast<std::int64_t>(_patience) * _call_ns;
    least = 0;
    _cost_ns = -1;
  }
  _patience = std::clamp(static_cast<std::uint64_t>(_patience_ns / _call_ns), least_patience,
                         most_patience);
  _last = _begun;
  if (!_races[_at].is_idle()) {
    _next = _calls + std::max(stamina, 8 * _distance);
    return;
  }
  if (_races[_at].is_suspicious()) _distance = least_distance;
  _at = none;
  _next = std::max(_calls + 2, _begun + std::max(wanted, least));
  // While other races wait, epochs stay close.
  if (most_urgent(true) == none) _distance = std::min(2 * _distance, most_distance);
}

} // namespace thalweg::runtime
