#include "probe/shifts.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace thalweg::probe {
namespace {

/// Returns 1 .. count - 1 in an order in which any first ones are spread evenly.
std::vector<std::size_t> spread_numbers(std::size_t count) {
  std::vector<std::size_t> result;
  std::size_t step = 1;
  while (step < count)
    step *= 2;
  for (; step >= 1; step /= 2)
    for (std::size_t at = step; at < count; at += 2 * step)
      result.push_back(at);
  return result;
}

/// Returns a crowd in which each site sends to the one `shift` further, one flow of each host.
std::vector<Flow> shifted(const Sites& sites, std::size_t shift) {
  std::vector<Flow> crowd;
  std::vector<std::pair<HostId, std::size_t>> senders, receivers; // left over, with their sites
  for (std::size_t s = 0; s < sites.size(); ++s) {
    const auto t = (s + shift) % sites.size();
    const auto both = std::min(sites[s].size(), sites[t].size());
    for (std::size_t i = 0; i < both; ++i)
      crowd.push_back({sites[s][i], sites[t][i]});
    for (std::size_t i = both; i < sites[s].size(); ++i)
      senders.emplace_back(sites[s][i], s);
    for (std::size_t i = both; i < sites[t].size(); ++i)
      receivers.emplace_back(sites[t][i], t);
  }
  for (const auto& sender : senders) {
    const auto other = std::ranges::find_if(
        receivers, [&](const auto& each) { return each.second != sender.second; });
    if (other == receivers.end()) continue;
    crowd.push_back({sender.first, other->first});
    receivers.erase(other);
  }
  return crowd;
}

/// Returns a crowd in which the hosts of each site send to all other sites in turn.
std::vector<Flow> mixed(const Sites& sites) {
  std::vector<Flow> crowd;
  std::vector<std::size_t> taken(sites.size()); // receivers
  for (std::size_t i = 0, left = 1; left > 0; ++i) {
    left = 0;
    for (std::size_t s = 0; s < sites.size(); ++s) {
      if (i >= sites[s].size()) continue;
      ++left;
      for (std::size_t k = 0; k + 1 < sites.size(); ++k) {
        const auto t = (s + 1 + (i + k) % (sites.size() - 1)) % sites.size();
        if (taken[t] == sites[t].size()) continue;
        crowd.push_back({sites[s][i], sites[t][taken[t]++]});
        break;
      }
    }
  }
  return crowd;
}

/// The same with several flows of each host; all hosts of both sites take part.
std::vector<Flow> shifted(const Sites& sites, std::size_t shift, std::size_t several) {
  std::vector<Flow> crowd;
  for (std::size_t s = 0; s < sites.size(); ++s) {
    const auto &from = sites[s], &to = sites[(s + shift) % sites.size()];
    const auto longer = std::max(from.size(), to.size()),
               shorter = std::min(from.size(), to.size());
    for (std::size_t k = 0; k < std::min(several, shorter); ++k)
      for (std::size_t i = 0; i < longer; ++i)
        crowd.push_back(from.size() < to.size() ? Flow{from[(i + k) % shorter], to[i]}
                                                : Flow{from[i], to[(i + k) % shorter]});
  }
  return crowd;
}

} // namespace

std::vector<std::vector<Flow>> shifts_inside(const Sites& sites) {
  std::vector<std::vector<Flow>> crowds;
  for (std::size_t part = 2; true; part *= 2) {
    std::vector<Flow> crowd;
    for (const auto& site : sites)
      if (site.size() >= 3 && (site.size() >= part))
        for (std::size_t i = 0; i < site.size(); ++i)
          crowd.push_back({site[i], site[(i + site.size() / part) % site.size()]});
    if (crowd.empty()) return crowds;
    crowds.push_back(std::move(crowd));
  }
}

std::vector<std::vector<Flow>> shifts_between(const Sites& sites, std::size_t several) {
  std::vector<std::vector<Flow>> crowds;
  for (const auto shift : spread_numbers(sites.size()))
    crowds.push_back(several > 1 ? shifted(sites, shift, several) : shifted(sites, shift));
  if (several == 1 && sites.size() > 2) crowds.push_back(mixed(sites));
  return crowds;
}

std::vector<Flow> scattered(const Sites& sites, const std::vector<HostId>& hosts, bool out) {
  const std::set<HostId> own(hosts.begin(), hosts.end());
  std::vector<HostId> others;
  bool more = true;
  for (std::size_t i = 0; more; ++i) {
    more = false;
    for (const auto& site : sites)
      if (i < site.size()) {
        more = true;
        if (!own.contains(site[i])) others.push_back(site[i]);
      }
  }
  constexpr std::size_t flows_each = 2;
  std::vector<Flow> crowd;
  for (std::size_t k = 0; k < std::min(flows_each, others.size()); ++k)
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const HostId other = others[(i + k * hosts.size() + k) % others.size()];
      crowd.push_back(out ? Flow{hosts[i], other} : Flow{other, hosts[i]});
    }
  return crowd;
}

std::vector<Flow> spread(std::span<const Flow> flows) {
  if (flows.empty()) return {};
  std::vector<Flow> result{flows.front()};
  for (auto at : spread_numbers(flows.size()))
    result.push_back(flows[at]);
  return result;
}

} // namespace thalweg::probe
