#include "mapping/part.hpp"

#include "units/index.hpp"

#include <utility>

namespace thalweg::mapping {
namespace {

/// Returns the hosts that a placement can be on, ascending, and those that ranks were on.
std::vector<HostId> usable_hosts(const Problem& problem) {
  std::vector<char> is_used(problem.slots.size());
  for (const HostId host : problem.previous)
    is_used[index(host)] = 1;
  std::vector<HostId> hosts;
  for (HostId host = 0; host < problem.network.size(); ++host)
    if (problem.slots[index(host)] > 0 || is_used[index(host)] != 0) hosts.push_back(host);
  return hosts;
}

/// Returns the position of each host in a list, by host; no_host for the others.
std::vector<HostId> numbers(std::size_t all, std::span<const HostId> hosts) {
  std::vector<HostId> number(all, no_host);
  for (std::size_t at = 0; at < hosts.size(); ++at)
    number[index(hosts[at])] = static_cast<HostId>(at);
  return number;
}

/// Returns the new numbers of those hosts that have one.
std::vector<HostId> renumbered(const std::vector<HostId>& hosts,
                               const std::vector<HostId>& number) {
  std::vector<HostId> found;
  for (const HostId host : hosts)
    if (number[index(host)] != no_host) found.push_back(number[index(host)]);
  return found;
}

/// Returns the problem on hosts of another number.
Problem on_part(const Network& part, const std::vector<HostId>& hosts, Problem whole) {
  const std::vector<HostId> number = numbers(whole.slots.size(), hosts);
  std::vector<std::int32_t> slots;
  for (const HostId host : hosts)
    slots.push_back(whole.slots[index(host)]);
  for (HostId& host : whole.pinned)
    if (host != no_host) host = number[index(host)];
  return {part,
          std::move(whole.communication),
          std::move(slots),
          std::move(whole.calls),
          whole.metric,
          std::move(whole.pinned),
          renumbered(whole.previous, number),
          whole.migration,
          renumbered(whole.order, number),
          whole.group_size};
}

} // namespace

Network part(const Network& network, std::span<const HostId> hosts) {
  const std::vector<HostId> number = numbers(network.hosts.size(), hosts);
  Network part;
  for (const HostId host : hosts)
    part.hosts.push_back(network.hosts[index(host)]);
  part.latency = network.latency.part(hosts);
  part.bandwidth = network.bandwidth.part(hosts);
  for (const network::Trunk& trunk : network.trunks) {
    network::Trunk own{trunk.name, renumbered(trunk.from, number), renumbered(trunk.to, number),
                       trunk.capacity};
    if (!own.from.empty() && !own.to.empty()) part.trunks.push_back(std::move(own));
  }
  for (const std::vector<HostId>& site : network.sites)
    if (std::vector<HostId> own = renumbered(site, number); !own.empty())
      part.sites.push_back(std::move(own));
  part.message_costs = network.message_costs;
  return part;
}

UsableHosts::UsableHosts(Problem whole)
    : _hosts(usable_hosts(whole)), _network(part(whole.network, _hosts)),
      _problem(on_part(_network, _hosts, std::move(whole))) {}

Placement UsableHosts::in_whole(const Placement& placement) const {
  Placement whole;
  for (const HostId host : placement)
    whole.push_back(_hosts[index(host)]);
  return whole;
}

} // namespace thalweg::mapping
