#include "network/change.hpp"

#include "units/index.hpp"

#include <algorithm>

namespace thalweg::network {
namespace {

bool has(const std::vector<HostId>& hosts, HostId host) {
  return std::ranges::binary_search(hosts, host);
}

/// Whether all flows that share a trunk go through what changed.
bool contains(const Change& change, const Trunk& trunk) {
  return std::ranges::all_of(trunk.from, [&](HostId host) { return has(change.from, host); }) &&
         std::ranges::all_of(trunk.to, [&](HostId host) { return has(change.to, host); });
}

void change_pair(Network& network, HostId a, HostId b, const Change& change, Quantity quantity) {
  if (quantity == Quantity::bandwidth) {
    network.bandwidth.set(a, b, network.bandwidth(a, b) / change.factor);
  } else {
    // A path doesn't become shorter than a hundredth.
    const Time before = network.latency(a, b);
    network.latency.set(a, b, std::max(before / 100, before + change.excess));
  }
}

void change_capacities(Network& network, const Change& change) {
  using What = Change::What;
  const auto scale = [&](Rate& rate) { rate = rate / change.factor; };
  if (change.what == What::egress)
    for (const HostId host : change.from)
      scale(network.hosts[index(host)].egress);
  if (change.what == What::ingress)
    for (const HostId host : change.to)
      scale(network.hosts[index(host)].ingress);
  for (Trunk& trunk : network.trunks)
    if ((change.what == What::trunk && trunk.name == change.trunk) ||
        (change.what == What::sites && contains(change, trunk)))
      scale(trunk.capacity);
}

} // namespace

bool Change::covers(HostId from_host, HostId to_host) const {
  return from_host != to_host && has(from, from_host) && has(to, to_host);
}

std::pair<HostId, HostId> Change::first_pair() const {
  for (const HostId a : from)
    for (const HostId b : to)
      if (a != b) return {a, b};
  return {0, 0};
}

void apply(Network& network, const Change& change, Quantity quantity) {
  for (const HostId a : change.from)
    for (const HostId b : change.to)
      if (a != b) change_pair(network, a, b, change, quantity);
  if (quantity == Quantity::bandwidth) change_capacities(network, change);
}

} // namespace thalweg::network
