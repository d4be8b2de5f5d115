#include "probe/membership.hpp"

#include "probe/shifts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace thalweg::probe {
namespace {

using Hosts = std::vector<HostId>;

/// The flows that fill the capacity could get this much more.
constexpr double reserve = 1.3;
/// Flows that take less than this fraction of the capacity can't be told from noise.
constexpr double noticed = 0.08;
/// Flows that got this much more than the capacity don't share it.
constexpr double clearly_more = 1.15;

void insert(Hosts& hosts, HostId host) {
  const auto at = std::ranges::lower_bound(hosts, host);
  if (at == hosts.end() || *at != host) hosts.insert(at, host);
}

Hosts joined(Hosts hosts, const Hosts& more) {
  for (HostId host : more)
    insert(hosts, host);
  return hosts;
}

bool contains(const Hosts& hosts, HostId host) { return std::ranges::binary_search(hosts, host); }

/// Which of some groups share the capacity.
enum class Verdict : std::uint8_t { none, some, all, unclear };

class Membership {
public:
  Membership(Evidence& evidence, const Observation& filled, const Sites& sites,
             const Latencies& latencies)
      : _evidence(evidence), _sites(sites), _latencies(latencies) {
    _passage.capacity = filled.total();
    _passage.crowd = filled.flows;
    for (auto [from, to] : filled.flows)
      insert(_passage.from, from), insert(_passage.to, to);
    choose_core();
  }

  Passage find() {
    const Hosts from = _passage.from, to = _passage.to;
    const Hosts senders = members(true), receivers = members(false);
    const bool both = senders.empty() || receivers.empty() || all_share(senders, receivers);
    if (both || senders.size() >= receivers.size()) _passage.from = joined(from, senders);
    if (both || senders.size() < receivers.size()) _passage.to = joined(to, receivers);
    return std::move(_passage);
  }

private:
  void choose_core();
  [[nodiscard]] std::vector<Hosts> candidates(bool senders) const;
  [[nodiscard]] bool is_likely(const Hosts& group, bool senders) const;
  [[nodiscard]] bool is_refuted(const Hosts& group, bool senders) const;
  [[nodiscard]] std::vector<Arrow> flows_of(const Hosts& group, bool senders) const;
  [[nodiscard]] Hosts members(bool senders);
  Verdict test(std::span<const Hosts> groups, bool senders, Hosts& found);
  void divide(const Hosts& group, bool senders, Hosts& found);
  [[nodiscard]] Verdict verdict_on(const std::vector<std::vector<Arrow>>& groups);
  [[nodiscard]] Rate undisturbed(const Observation& seen) const;
  [[nodiscard]] Rate core_of(std::span<const Rate> rates) const {
    return sum(rates.first(_core.size()));
  }
  [[nodiscard]] bool all_share(const Hosts& senders, const Hosts& receivers);
  [[nodiscard]] bool is_own_site(const Hosts& group, bool senders) const;

  Evidence& _evidence;
  const Sites& _sites;
  const Latencies& _latencies;
  Passage _passage;
  std::vector<Arrow> _core; ///< flows that fill it with some reserve
};

/// Takes as few flows as fill it, from all parts of the crowd, so that hosts remain for the others.
void Membership::choose_core() {
  for (auto flow : spread(_passage.crowd)) {
    if (!_core.empty() && sum(_evidence.predict(_core)) >= _passage.capacity * reserve) return;
    _core.push_back(flow);
  }
}

bool Membership::is_own_site(const Hosts& group, bool senders) const {
  const auto& own = senders ? _passage.from : _passage.to;
  return std::ranges::any_of(_sites, [&](const Hosts& site) {
    return std::ranges::find(site, group.front()) != site.end() &&
           std::ranges::any_of(site, [&](HostId host) { return contains(own, host); });
  });
}

/// Returns the other hosts by site: those that could stand at this end.
std::vector<Hosts> Membership::candidates(bool senders) const {
  std::vector<Hosts> result;
  for (const auto& site : _sites) {
    Hosts group;
    for (HostId host : site)
      if (!contains(_passage.from, host) && !contains(_passage.to, host)) group.push_back(host);
    // Some hosts of a site that is divided already may be members though not all are.
    const bool is_whole = group.size() == site.size();
    if (!group.empty() && !(is_whole && is_refuted(group, senders)))
      result.push_back(std::move(group));
  }
  return result;
}

/// Whether the group's path seems to lead through both ends.
bool Membership::is_likely(const Hosts& group, bool senders) const {
  constexpr double nearly = 0.9;
  const auto [from, to] = _core.front();
  const HostId near = senders ? from : to, far = senders ? to : from, other = group.front();
  const auto trip = [&](HostId a, HostId b) {
    return static_cast<double>(_latencies.round_trip(a, b));
  };
  return trip(other, far) >= nearly * (trip(other, near) + trip(near, far));
}

/// Returns flows between the group and the other end.
std::vector<Arrow> Membership::flows_of(const Hosts& group, bool senders) const {
  Hosts ends = senders ? _passage.to : _passage.from;
  // Hosts that the core doesn't use come first.
  std::stable_partition(ends.begin(), ends.end(), [&](HostId host) {
    return std::ranges::none_of(
        _core, [&](Arrow flow) { return host == (senders ? flow.to : flow.from); });
  });
  std::vector<Arrow> flows;
  for (std::size_t i = 0; i < std::min(group.size(), ends.size()); ++i)
    flows.push_back(senders ? Arrow{group[i], ends[i]} : Arrow{ends[i], group[i]});
  return flows;
}

/// Whether flows of the group and of the passage have got more together than the passage carries.
bool Membership::is_refuted(const Hosts& group, bool senders) const {
  auto wider = _passage;
  auto& end = senders ? wider.from : wider.to;
  end = joined(end, group);
  return std::ranges::any_of(_evidence.observations(), [&](const Observation& seen) {
    Rate carried(0);
    for (std::size_t f = 0; f < seen.flows.size(); ++f)
      if (wider.carries(seen.flows[f])) carried += seen.each[f];
    return carried > wider.capacity * clearly_more;
  });
}

Hosts Membership::members(bool senders) {
  std::vector<Hosts> own, likely, unlikely;
  for (auto& group : candidates(senders)) {
    auto& list = is_own_site(group, senders) ? own : is_likely(group, senders) ? likely : unlikely;
    list.push_back(std::move(group));
  }
  Hosts found;
  for (const auto* groups : {&own, &likely, &unlikely})
    test(*groups, senders, found);
  return found;
}

/// Adds the members among some groups to `found`. @return the verdict on all groups
Verdict Membership::test(std::span<const Hosts> groups, bool senders, Hosts& found) {
  if (groups.empty() || !_evidence.has_time()) return Verdict::none;
  std::vector<std::vector<Arrow>> flows;
  for (const auto& group : groups)
    flows.push_back(flows_of(group, senders));
  const auto verdict = verdict_on(flows);
  const auto& group = groups.front();
  if (verdict == Verdict::some && groups.size() > 1) {
    test(groups.first(groups.size() / 2), senders, found);
    test(groups.subspan(groups.size() / 2), senders, found);
  } else if (verdict == Verdict::some && group.size() > 1) {
    divide(group, senders, found);
  } else if (verdict == Verdict::all ||
             (verdict == Verdict::unclear && is_own_site(group, senders))) {
    for (const auto& each : groups)
      found = joined(std::move(found), each);
  }
  return verdict;
}

/// Tests the halves of a group. If some of each share the capacity, all do, with something else
/// that is wider: they aren't members.
void Membership::divide(const Hosts& group, bool senders, Hosts& found) {
  const auto middle = group.begin() + static_cast<std::ptrdiff_t>(group.size() / 2);
  const Hosts halves[]{{group.begin(), middle}, {middle, group.end()}};
  Hosts members[2];
  Verdict verdicts[2];
  for (const int half : {0, 1})
    verdicts[half] =
        test(std::span(halves).subspan(static_cast<std::size_t>(half), 1), senders, members[half]);
  if (verdicts[0] == Verdict::some && verdicts[1] == Verdict::some) return;
  for (const int half : {0, 1}) {
    // A single host can't be a member in part: it is one like the others.
    const bool like = halves[half].size() == 1 && verdicts[half] == Verdict::some &&
                      verdicts[1 - half] == Verdict::all;
    found = joined(std::move(found), like ? halves[half] : members[half]);
  }
}

/// Lets groups of flows run beside the core. If the core loses nothing, no group shares its
/// capacity; if it loses what they get, all do.
Verdict Membership::verdict_on(const std::vector<std::vector<Arrow>>& groups) {
  std::vector<Arrow> flows = _core;
  for (const auto& group : groups)
    flows.insert(flows.end(), group.begin(), group.end());
  const auto seen = _evidence.run(flows);
  const double lost = undisturbed(seen).value() - core_of(seen.each).value();
  double least = std::numeric_limits<double>::infinity(), taken = 0;
  auto at = seen.each.begin() + static_cast<std::ptrdiff_t>(_core.size());
  for (const auto& group : groups) {
    const auto end = at + static_cast<std::ptrdiff_t>(group.size());
    const double rate = std::accumulate(at, end, Rate(0)).value();
    least = std::min(least, rate), taken += rate;
    at = end;
  }
  const double capacity = _passage.capacity.value();
  if (taken < noticed * capacity) return Verdict::unclear;
  const double margin = std::min(least / 2, noticed * capacity);
  if (lost < margin) return Verdict::none;
  return lost > taken - margin ? Verdict::all : Verdict::some;
}

/// Returns what the core would get if the other flows, as fast as they were, shared only hosts and
/// known capacities with it.
Rate Membership::undisturbed(const Observation& seen) const {
  auto limits = _evidence.model().alone(seen.flows);
  std::copy(seen.each.begin() + static_cast<std::ptrdiff_t>(_core.size()), seen.each.end(),
            limits.begin() + static_cast<std::ptrdiff_t>(_core.size()));
  Shared own{std::vector<bool>(seen.flows.size()), _passage.capacity};
  std::fill_n(own.members.begin(), _core.size(), true);
  return core_of(_evidence.predict(seen.flows, limits, std::move(own)));
}

/// Whether flows from the senders that were found to the receivers that were found share it too.
bool Membership::all_share(const Hosts& senders, const Hosts& receivers) {
  if (std::ranges::any_of(senders, [&](HostId host) { return contains(receivers, host); }))
    return false;
  std::vector<Arrow> flows;
  for (std::size_t i = 0; i < std::min(senders.size(), receivers.size()); ++i)
    flows.push_back({senders[i], receivers[i]});
  return _evidence.has_time() && verdict_on({flows}) == Verdict::all;
}

} // namespace

Passage find_members(Evidence& evidence, const Observation& filled, const Sites& sites,
                     const Latencies& latencies) {
  return Membership(evidence, filled, sites, latencies).find();
}

} // namespace thalweg::probe
