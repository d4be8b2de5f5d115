#include "runtime/adapt/call_observer.hpp"

#include "runtime/adapt/races.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace thalweg::runtime {
namespace {

using observe::PairTimes;

/// The planned calls that are simulated in a row.
constexpr std::size_t most_rowed = 12;

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

CallObserver::CallObserver(const network::Placement& placement, collective::Rank rank)
    : _hosts(network::used_hosts(placement)), _own_host(positions(placement, _hosts)[index(rank)]),
      _log(positions(placement, _hosts), rank) {
  _seen.reserve(Races::most_races);
}

std::vector<RowedCall> CallObserver::latest_calls() const {
  std::vector<RowedCall> row;
  std::size_t planned = 0;
  for (std::size_t i = _calls; i > _calls - std::min(_calls, _row.size()) && planned < most_rowed;
       --i) {
    row.push_back(_row[(i - 1) % _row.size()]);
    planned += row.back().is_planned ? 1 : 0;
  }
  std::ranges::reverse(row);
  return row;
}

void CallObserver::note_size(std::size_t race, units::Size size) {
  if (_seen.size() <= race) _seen.resize(race + 1); // for which there is room
  _seen[race].size = size;
}

CalledShape CallObserver::shape(const Races& races, std::size_t race) const {
  const Race& of = races.all()[race];
  const units::Size planned = _seen[race].size;
  return {of.key(), planned > 0 ? planned : of.sizes().most, of.calls()};
}

observe::PairTimesLog* CallObserver::log(std::size_t race) {
  std::vector<PairTimes>& incoming = _seen[race].incoming;
  try {
    incoming.resize(_hosts.size() * PairTimes::classes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  _log.calibrate();
  _log.count_in(incoming);
  return &_log;
}

void CallObserver::put_sums(std::size_t race, std::span<std::uint64_t> sums) const {
  if (race >= _seen.size() || _seen[race].incoming.empty()) return;
  const std::size_t hosts = _hosts.size(), own = index(_own_host);
  constexpr std::size_t fields = PairTimes::fields * PairTimes::classes; // of a pair
  for (std::size_t host = 0; host < hosts; ++host)
    if (host != own)
      std::memcpy(&sums[(host * hosts + own) * fields],
                  &_seen[race].incoming[host * PairTimes::classes], fields * sizeof(std::uint64_t));
}

void CallObserver::forget(std::size_t race) {
  if (race < _seen.size()) std::ranges::fill(_seen[race].incoming, PairTimes{});
}

void CallObserver::forget_messages() {
  for (Seen& seen : _seen)
    seen.incoming.clear();
}

} // namespace thalweg::runtime
