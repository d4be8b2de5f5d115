#include "probe/uplinks.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

namespace thalweg::probe {
namespace {

constexpr std::size_t most_flows = 3; // per host
constexpr int attempts = 3;
/// Many flows of one host slow each other down a little.
constexpr double clearly_less = 0.85;

bool contains(const std::vector<HostId>& hosts, HostId host) {
  return std::ranges::find(hosts, host) != hosts.end();
}

class Uplinks {
public:
  Uplinks(Coordinator& coordinator, const Crowds& crowds, const Sites& sites,
          const Capacities& capacities, const std::vector<network::Trunk>& found)
      : _coordinator(coordinator), _crowds(crowds), _sites(sites), _capacities(capacities),
        _found(found) {}

  std::vector<network::Trunk> find(Nanoseconds deadline) {
    std::vector<network::Trunk> result;
    for (std::size_t s = 0; s < _sites.size(); ++s) {
      for (const bool out : {true, false})
        if (auto trunk = measure(s, out, deadline)) result.push_back(std::move(*trunk));
      _coordinator.report.progress("uplinks", s + 1, _sites.size());
    }
    return result;
  }

private:
  std::optional<network::Trunk> measure(std::size_t site, bool out, Nanoseconds deadline);
  [[nodiscard]] std::vector<Arrow> crowd(std::size_t site, bool out) const;
  [[nodiscard]] Rate expected(const std::vector<Arrow>& flows) const;
  [[nodiscard]] std::int32_t senders(const network::Trunk& trunk) const;
  [[nodiscard]] bool known(const network::Trunk& trunk) const {
    return std::ranges::any_of(_found, [&](const network::Trunk& other) {
      return other.from == trunk.from && other.to == trunk.to;
    });
  }

  Coordinator& _coordinator;
  const Crowds& _crowds;
  const Sites& _sites;
  const Capacities& _capacities;
  const std::vector<network::Trunk>& _found;
};

/// Returns flows of each host of the site to up to most_flows others, no other host twice.
std::vector<Arrow> Uplinks::crowd(std::size_t site, bool out) const {
  std::vector<HostId> others;
  for (std::size_t s = 0; s < _sites.size(); ++s)
    if (s != site) others.insert(others.end(), _sites[s].begin(), _sites[s].end());
  const auto& own = _sites[site];
  const auto count = std::min(others.size(), most_flows * own.size());
  std::vector<Arrow> flows;
  for (std::size_t i = 0; i < count; ++i) {
    const HostId here = own[i % own.size()], there = others[i * others.size() / count];
    flows.push_back(out ? Arrow{here, there} : Arrow{there, here});
  }
  return flows;
}

/// Returns the rate that the known capacities of hosts and trunks allow the flows together.
Rate Uplinks::expected(const std::vector<Arrow>& flows) const {
  std::map<HostId, Rate> sent, taken;
  std::vector<Rate> carried(_found.size(), Rate(0));
  Rate alone(0), held_back(0);
  for (auto [from, to] : flows) {
    const Rate rate = _crowds.bandwidths().rate(from, to);
    sent[from] += rate, taken[to] += rate, alone += rate;
    for (std::size_t t = 0; t < _found.size(); ++t)
      if (contains(_found[t].from, from) && contains(_found[t].to, to)) carried[t] += rate;
  }
  for (std::size_t t = 0; t < _found.size(); ++t)
    if (carried[t] > _found[t].capacity) held_back += carried[t] - _found[t].capacity;
  Rate can_send(0), can_take(0);
  for (auto [host, rate] : sent)
    can_send += std::min(rate, _capacities.egress[static_cast<std::size_t>(host)]);
  for (auto [host, rate] : taken)
    can_take += std::min(rate, _capacities.ingress[static_cast<std::size_t>(host)]);
  return std::min({can_send, can_take, std::max(alone - held_back, Rate(0))});
}

std::optional<network::Trunk> Uplinks::measure(std::size_t site, bool out, Nanoseconds deadline) {
  network::Trunk trunk{(out ? "out of site " : "into site ") + std::to_string(site), {}, {}, {}};
  for (std::size_t s = 0; s < _sites.size(); ++s) {
    auto& end = (s == site) == out ? trunk.from : trunk.to;
    end.insert(end.end(), _sites[s].begin(), _sites[s].end());
  }
  std::ranges::sort(trunk.from);
  std::ranges::sort(trunk.to);
  const auto flows = crowd(site, out);
  const Rate limit = expected(flows);
  if (flows.size() < 2 || known(trunk)) return std::nullopt;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (_coordinator.clock() > deadline) return std::nullopt;
    const double fair = std::min(1.0, limit / _crowds.alone(flows));
    const Rate together = _crowds.run({&flows, 1}, {&fair, 1}).front().together;
    trunk.capacity = std::max(trunk.capacity, together);
    if (together == Rate(0) || trunk.capacity >= limit * clearly_less) return std::nullopt;
  }
  trunk.senders = senders(trunk);
  return trunk;
}

/// Returns the fewest hosts that fill the trunk with one flow each, the fastest first; all, if they
/// don't.
std::int32_t Uplinks::senders(const network::Trunk& trunk) const {
  constexpr double enough = 0.95;
  std::vector<Rate> best;
  for (HostId from : trunk.from) {
    best.emplace_back(0);
    for (HostId to : trunk.to)
      best.back() = std::max(best.back(), _crowds.bandwidths().rate(from, to));
  }
  std::ranges::sort(best, std::greater());
  Rate sum(0);
  std::size_t n = 0;
  const auto most = std::min(trunk.from.size(), trunk.to.size());
  while (n < most && sum < trunk.capacity * enough)
    sum += best[n++];
  return static_cast<std::int32_t>(n);
}

/// Whether `wide` carries all flows of `narrow`, and hardly more capacity.
bool implies(const network::Trunk& wide, const network::Trunk& narrow) {
  if (wide.from == narrow.from && wide.to == narrow.to) return false;
  constexpr double explained = 1.1;
  const auto within = [](const std::vector<HostId>& some, const std::vector<HostId>& all) {
    return std::ranges::all_of(some, [&](HostId host) { return contains(all, host); });
  };
  return within(narrow.from, wide.from) && within(narrow.to, wide.to) &&
         wide.capacity <= narrow.capacity * explained;
}

} // namespace

std::vector<network::Trunk> measure_uplinks(Coordinator& coordinator, const Crowds& crowds,
                                            const Sites& sites, const Capacities& capacities,
                                            std::vector<network::Trunk> found, double share) {
  if (sites.size() < 2) return found;
  const auto uplinks =
      Uplinks(coordinator, crowds, sites, capacities, found).find(coordinator.deadline(share));
  found.insert(found.end(), uplinks.begin(), uplinks.end());
  std::vector<network::Trunk> result;
  for (const auto& trunk : found)
    if (std::ranges::none_of(found, [&](const auto& other) { return implies(other, trunk); }))
      result.push_back(trunk);
  return result;
}

} // namespace thalweg::probe
