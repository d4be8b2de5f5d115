#include "probe/membership.hpp"

#include "probe/shifts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
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

/// Hosts of a site that may stand at one end.
struct Group {
  Hosts hosts;
  bool senders = false;
};

/// Hosts that were found at both ends.
struct Members : Ends {
  Hosts& of(const Group& group) { return group.senders ? from : to; }
  void add(const Group& group) { of(group) = joined(std::move(of(group)), group.hosts); }
  void add(const Members& more) {
    from = joined(std::move(from), more.from), to = joined(std::move(to), more.to);
  }
};

/// Returns a flow of as many hosts at both ends as there are.
std::vector<Flow> between(const Ends& ends) {
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < std::min(ends.from.size(), ends.to.size()); ++i)
    flows.push_back({ends.from[i], ends.to[i]});
  return flows;
}

/// Whether both flows use a port.
bool meet(Flow flow, Flow other) { return flow.from == other.from || flow.to == other.to; }

std::vector<Flow> joined_flows(std::vector<Flow> flows,
                               const std::vector<std::vector<Flow>>& groups) {
  for (const auto& group : groups)
    flows.insert(flows.end(), group.begin(), group.end());
  return flows;
}

/// Which of some groups share the capacity.
enum class Verdict : std::uint8_t { none, some, all, unclear };

class Membership {
public:
  Membership(Evidence& evidence, const Observation& filled, const Sites& sites,
             const Latencies& latencies, const FilledTrunk* opposite)
      : _evidence(evidence), _sites(sites), _site(sites), _latencies(latencies),
        _opposite(opposite) {
    _trunk.capacity = filled.total();
    _trunk.crowd = filled.flows;
    for (auto [from, to] : filled.flows)
      insert(_trunk.from, from), insert(_trunk.to, to);
    choose_core();
  }

  FilledTrunk find() {
    Members found;
    bool both = has_opposite_members(found);
    if (!both) {
      found = members();
      both = found.from.empty() || found.to.empty() || all_share(found);
    }
    if (both || found.from.size() >= found.to.size()) _trunk.from = joined(_trunk.from, found.from);
    if (both || found.from.size() < found.to.size()) _trunk.to = joined(_trunk.to, found.to);
    return std::move(_trunk);
  }

private:
  /// Flows of the core and of groups that run at the same time.
  struct Trial {
    std::vector<Flow> core;
    std::vector<std::vector<Flow>> groups;
  };
  void choose_core();
  [[nodiscard]] std::vector<Group> candidates() const;
  [[nodiscard]] double likelihood(const Group& group) const;
  [[nodiscard]] std::vector<bool> refuted_sites(bool senders) const;
  [[nodiscard]] std::vector<Flow> flows_of(const Group& group) const;
  [[nodiscard]] bool has_opposite_members(Members& found);
  [[nodiscard]] Members members();
  void widen(const Members& found);
  Verdict test(std::span<const Group> groups, Members& found);
  void divide(const Group& group, Members& found);
  [[nodiscard]] Verdict verdict_on(const std::vector<std::vector<Flow>>& wanted);
  [[nodiscard]] Trial apart(const std::vector<std::vector<Flow>>& groups) const;
  [[nodiscard]] bool meets_core(Flow flow) const {
    return std::ranges::any_of(_core, [&](Flow own) { return meet(own, flow); });
  }
  [[nodiscard]] Rate undisturbed(const Observation& seen, std::size_t core) const;
  [[nodiscard]] bool all_share(const Members& found);
  [[nodiscard]] bool is_own_site(const Group& group) const;
  [[nodiscard]] std::ptrdiff_t count_sites(const Hosts& hosts) const {
    return std::ranges::count_if(_sites, [&](const Hosts& site) {
      return std::ranges::any_of(site, [&](HostId host) { return contains(hosts, host); });
    });
  }

  Evidence& _evidence;
  const Sites& _sites;
  SiteOf _site;
  const Latencies& _latencies;
  const FilledTrunk* _opposite;
  FilledTrunk _trunk;
  std::vector<Flow> _core; ///< flows that fill it with some reserve
};

/// Takes as few flows as fill it, from all parts of the crowd, so that hosts remain for the others.
void Membership::choose_core() {
  for (auto flow : spread(_trunk.crowd)) {
    if (!_core.empty() && sum(_evidence.predict(_core)) >= _trunk.capacity * reserve) return;
    _core.push_back(flow);
  }
}

bool Membership::is_own_site(const Group& group) const {
  const auto& own = group.senders ? _trunk.from : _trunk.to;
  return std::ranges::any_of(_sites, [&](const Hosts& site) {
    return std::ranges::find(site, group.hosts.front()) != site.end() &&
           std::ranges::any_of(site, [&](HostId host) { return contains(own, host); });
  });
}

/// Returns the other hosts by site and end: those that could stand there.
std::vector<Group> Membership::candidates() const {
  std::vector<Group> result;
  for (const bool senders : {true, false}) {
    const auto is_refuted = refuted_sites(senders);
    for (std::size_t s = 0; s < _sites.size(); ++s) {
      Group group{{}, senders};
      for (HostId host : _sites[s])
        if (!contains(_trunk.from, host) && !contains(_trunk.to, host)) group.hosts.push_back(host);
      // Some hosts of a site that is divided already may be members though not all are.
      const bool is_whole = group.hosts.size() == _sites[s].size();
      if (!group.hosts.empty() && !(is_whole && is_refuted[s])) result.push_back(std::move(group));
    }
  }
  return result;
}

/// Returns how much more of the path between the ends lies between the group and the far end than
/// between it and the near one, by latency: the more, the likelier is it that its flows to, or
/// from, the far end share a link of that path.
double Membership::likelihood(const Group& group) const {
  const auto [from, to] = _core.front();
  const HostId near = group.senders ? from : to, far = group.senders ? to : from,
               other = group.hosts.front();
  return static_cast<double>(_latencies.round_trip(other, far)) -
         static_cast<double>(_latencies.round_trip(other, near));
}

/// Returns flows between the group and the other end.
std::vector<Flow> Membership::flows_of(const Group& group) const {
  const bool senders = group.senders;
  Hosts ends = senders ? _trunk.to : _trunk.from;
  // Hosts that the core doesn't use come first.
  std::stable_partition(ends.begin(), ends.end(), [&](HostId host) {
    return std::ranges::none_of(_core,
                                [&](Flow flow) { return host == (senders ? flow.to : flow.from); });
  });
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < std::min(group.hosts.size(), ends.size()); ++i)
    flows.push_back(senders ? Flow{group.hosts[i], ends[i]} : Flow{ends[i], group.hosts[i]});
  return flows;
}

/// Returns whether flows of each site and of the trunk have got more together than the trunk
/// carries, by site. O(flows of all crowds + crowds · sites).
/// @param senders whether the sites stand at the sending end
std::vector<bool> Membership::refuted_sites(bool senders) const {
  const auto &own_end = senders ? _trunk.from : _trunk.to,
             &far_end = senders ? _trunk.to : _trunk.from;
  std::vector<bool> result(_sites.size());
  for (const auto& seen : _evidence.observations()) {
    Rate own(0);
    std::vector<Rate> others(_sites.size(), Rate(0));
    for (std::size_t f = 0; f < seen.flows.size(); ++f) {
      const auto [from, to] = seen.flows[f];
      const HostId host = senders ? from : to;
      if (!contains(far_end, senders ? to : from)) continue;
      (contains(own_end, host) ? own : others[_site(host)]) += seen.each[f];
    }
    for (std::size_t s = 0; s < _sites.size(); ++s)
      if (own + others[s] > _trunk.capacity * clearly_more) result[s] = true;
  }
  return result;
}

/// Tests at once whether the members of the opposite direction share the capacity, all with all.
bool Membership::has_opposite_members(Members& found) {
  if (_opposite == nullptr || !_evidence.has_time()) return false;
  std::vector<Flow> flows;
  for (auto& group : candidates()) {
    const auto& own = group.senders ? _opposite->to : _opposite->from;
    std::erase_if(group.hosts, [&](HostId host) { return !contains(own, host); });
    if (group.hosts.empty()) continue;
    found.add(group);
    const auto more = flows_of(group);
    flows.insert(flows.end(), more.begin(), more.end());
  }
  const auto across = between(found);
  flows.insert(flows.end(), across.begin(), across.end());
  return flows.empty() || verdict_on({flows}) == Verdict::all;
}

/// A link on the path between the ends has every other site either before it or behind it: hosts
/// that were found at one end aren't looked for at the other.
Members Membership::members() {
  std::vector<Group> own, others[2]; // senders, receivers
  for (auto& group : candidates())
    (is_own_site(group) ? own : others[group.senders ? 0 : 1]).push_back(std::move(group));
  Members found;
  test(own, found);
  widen(found);
  const bool senders_first = count_sites(_trunk.from) > count_sites(_trunk.to);
  for (auto* groups : {&others[senders_first ? 0 : 1], &others[senders_first ? 1 : 0]}) {
    for (auto& group : *groups)
      std::erase_if(group.hosts, [&](HostId host) {
        return contains(group.senders ? found.to : found.from, host);
      });
    std::erase_if(*groups, [](const Group& group) { return group.hosts.empty(); });
    std::ranges::stable_sort(*groups, std::greater(),
                             [&](const Group& group) { return likelihood(group); });
    test(*groups, found);
  }
  return found;
}

/// Takes hosts of its own sites that were found, at one end or at both, for members from now on:
/// flows of other sites then have hosts that the core doesn't use, whose ports would slow both.
void Membership::widen(const Members& found) {
  if (!found.from.empty() && !found.to.empty() && !all_share(found)) return;
  _trunk.from = joined(_trunk.from, found.from);
  _trunk.to = joined(_trunk.to, found.to);
}

/// Adds the members among some groups to `found`. @return the verdict on all groups
Verdict Membership::test(std::span<const Group> groups, Members& found) {
  if (groups.empty() || !_evidence.has_time()) return Verdict::none;
  std::vector<std::vector<Flow>> flows;
  for (const auto& group : groups)
    flows.push_back(flows_of(group));
  const auto& group = groups.front();
  // Only at the ends themselves a link may part hosts of a site.
  const bool rest_of_site = groups.size() == 1 && is_own_site(group);
  auto verdict = verdict_on(flows);
  if (verdict == Verdict::none && rest_of_site && _evidence.has_time())
    verdict = verdict_on(flows); // Hosts of a site are alike: one test isn't enough to part them.
  if (groups.size() > 1 && (verdict == Verdict::some || verdict == Verdict::unclear)) {
    test(groups.first(groups.size() / 2), found);
    test(groups.subspan(groups.size() / 2), found);
  } else if (verdict == Verdict::some && rest_of_site && group.hosts.size() > 1) {
    divide(group, found);
  } else if (verdict == Verdict::all || (verdict == Verdict::unclear && rest_of_site)) {
    for (const auto& each : groups)
      found.add(each);
  }
  return verdict;
}

/// Tests the halves of a group, and again one that doesn't share what the other does. If some of
/// each share the capacity, all do, with something else that is wider: they aren't members.
void Membership::divide(const Group& group, Members& found) {
  const auto middle = group.hosts.begin() + static_cast<std::ptrdiff_t>(group.hosts.size() / 2);
  const Group halves[]{{{group.hosts.begin(), middle}, group.senders},
                       {{middle, group.hosts.end()}, group.senders}};
  Members members[2];
  Verdict verdicts[2];
  const auto test_half = [&](std::size_t half) {
    members[half] = {};
    verdicts[half] = test(std::span(halves).subspan(half, 1), members[half]);
  };
  for (std::size_t half = 0; half < 2; ++half)
    test_half(half);
  if (verdicts[0] == Verdict::some && verdicts[1] == Verdict::some) return;
  for (std::size_t half = 0; half < 2; ++half) {
    if (verdicts[1 - half] == Verdict::all && verdicts[half] != Verdict::all) test_half(half);
    // A single host can't be a member in part: it is one like the others.
    const bool like = halves[half].hosts.size() == 1 && verdicts[half] == Verdict::some &&
                      verdicts[1 - half] == Verdict::all;
    if (like)
      found.add(halves[half]);
    else
      found.add(members[half]);
  }
}

/// Returns flows that run beside each other: those of the core, and the groups'. Where they would
/// meet at hosts, whose ports would slow both, there are fewer of each if they can still get
/// clearly more than the capacity.
Membership::Trial Membership::apart(const std::vector<std::vector<Flow>>& groups) const {
  Trial best{_core, groups};
  if (std::ranges::none_of(joined_flows({}, groups), [&](Flow flow) { return meets_core(flow); }))
    return best;
  Rate most = _trunk.capacity * clearly_more;
  std::size_t longest = 0;
  for (const auto& group : groups)
    longest = std::max(longest, group.size());
  for (std::size_t flows_each = 1; flows_each <= longest; ++flows_each) {
    Trial trial;
    for (const auto& group : groups)
      trial.groups.emplace_back(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                   flows_each, group.size())));
    const auto others = joined_flows({}, trial.groups);
    std::ranges::copy_if(_core, std::back_inserter(trial.core), [&](Flow flow) {
      return std::ranges::none_of(others, [&](Flow other) { return meet(flow, other); });
    });
    const auto total = sum(_evidence.predict(joined_flows(trial.core, trial.groups)));
    if (trial.core.empty() || total <= most) continue;
    most = total;
    best = std::move(trial);
  }
  return best;
}

/// Lets groups of flows run beside the core. If the core loses nothing, no group shares its
/// capacity; if all get no more than the capacity, all do.
Verdict Membership::verdict_on(const std::vector<std::vector<Flow>>& wanted) {
  const auto& [core, groups] = apart(wanted);
  const auto seen = _evidence.run(joined_flows(core, groups));
  const Rate of_core = sum(std::span(seen.each).first(core.size()));
  const double lost = undisturbed(seen, core.size()).value() - of_core.value();
  double least = std::numeric_limits<double>::infinity(), taken = 0;
  auto at = seen.each.begin() + static_cast<std::ptrdiff_t>(core.size());
  for (const auto& group : groups) {
    const auto end = at + static_cast<std::ptrdiff_t>(group.size());
    const double rate = std::accumulate(at, end, Rate(0)).value();
    least = std::min(least, rate), taken += rate;
    at = end;
  }
  const double capacity = _trunk.capacity.value();
  const double margin = std::min(least / 2, noticed * capacity);
  const bool may_share = of_core.value() + taken < capacity + margin;
  const bool may_be_free = lost < margin;
  if (taken < noticed * capacity || (may_share && may_be_free)) return Verdict::unclear;
  return may_share ? Verdict::all : may_be_free ? Verdict::none : Verdict::some;
}

/// Returns what the core would get if the other flows, as fast as they were, shared only hosts and
/// known capacities with it.
Rate Membership::undisturbed(const Observation& seen, std::size_t core) const {
  auto limits = _evidence.model().alone(seen.flows);
  std::copy(seen.each.begin() + static_cast<std::ptrdiff_t>(core), seen.each.end(),
            limits.begin() + static_cast<std::ptrdiff_t>(core));
  Shared own{std::vector<bool>(seen.flows.size()), _trunk.capacity};
  std::fill_n(own.members.begin(), core, true);
  const auto rates = _evidence.predict(seen.flows, limits, std::move(own));
  return sum(std::span(rates).first(core));
}

/// Whether flows from the senders that were found to the receivers that were found share it too.
bool Membership::all_share(const Members& found) {
  if (std::ranges::any_of(found.from, [&](HostId host) { return contains(found.to, host); }))
    return false;
  return _evidence.has_time() && verdict_on({between(found)}) == Verdict::all;
}

} // namespace

FilledTrunk find_members(Evidence& evidence, const Observation& filled, const Sites& sites,
                         const Latencies& latencies, const FilledTrunk* opposite) {
  return Membership(evidence, filled, sites, latencies, opposite).find();
}

} // namespace thalweg::probe
