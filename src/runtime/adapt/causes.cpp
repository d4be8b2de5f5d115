#include "runtime/adapt/causes.hpp"

#include "units/index.hpp"

#include <algorithm>

namespace thalweg::runtime {
namespace {

using What = Cause::What;

bool has(std::span<const HostId> hosts, HostId host) {
  return std::ranges::binary_search(hosts, host);
}

std::vector<HostId> sorted(std::vector<HostId> hosts) {
  std::ranges::sort(hosts);
  return hosts;
}

std::vector<HostId> all_but(HostId one, HostId count) {
  std::vector<HostId> others;
  for (HostId host = 0; host < count; ++host)
    if (host != one) others.push_back(host);
  return others;
}

} // namespace

Cause::Ends Cause::ends(const Network& network) const {
  switch (what) {
  case What::trunk: {
    const network::Trunk& trunk = network.trunks[index(from)];
    return {sorted(trunk.from), sorted(trunk.to)};
  }
  case What::sites:
    return {sorted(network.sites[index(from)]), sorted(network.sites[index(to)])};
  case What::egress:
    return {{from}, all_but(from, network.size())};
  case What::ingress:
    return {all_but(from, network.size()), {from}};
  case What::pair:
    return {{from}, {to}};
  }
  return {};
}

bool Cause::Ends::cover(HostId from_host, HostId to_host) const {
  return from_host != to_host && has(from, from_host) && has(to, to_host);
}

bool Cause::Ends::include(const network::Trunk& trunk) const {
  return std::ranges::all_of(trunk.from, [&](HostId host) { return has(from, host); }) &&
         std::ranges::all_of(trunk.to, [&](HostId host) { return has(to, host); });
}

std::pair<HostId, HostId> Cause::Ends::first_pair() const {
  for (const HostId a : from)
    for (const HostId b : to)
      if (a != b) return {a, b};
  return {0, 0};
}

namespace {

void change_pair(Network& network, HostId a, HostId b, const Cause& cause, Quantity quantity) {
  if (quantity == Quantity::bandwidth) {
    const units::Rate rate = network.bandwidth(a, b);
    network.bandwidth.set(a, b, units::Rate(rate.value() / cause.factor));
  } else {
    // A path doesn't become shorter than a hundredth.
    const double before = network.latency(a, b).value();
    network.latency.set(a, b, units::Time(std::max(before / 100, before + cause.excess_ns * 1e-9)));
  }
}

void change_capacity(Network& network, const Cause& cause, const Cause::Ends& ends) {
  const auto scale = [&](units::Rate& rate) { rate = units::Rate(rate.value() / cause.factor); };
  if (cause.what == What::trunk) scale(network.trunks[index(cause.from)].capacity);
  if (cause.what == What::egress) scale(network.hosts[index(cause.from)].egress);
  if (cause.what == What::ingress) scale(network.hosts[index(cause.from)].ingress);
  if (cause.what != What::sites) return;
  for (network::Trunk& trunk : network.trunks)
    if (ends.include(trunk)) scale(trunk.capacity);
}

} // namespace

Network changed(const Network& network, std::span<const Cause> causes, Quantity quantity) {
  Network result = network;
  for (const Cause& cause : causes) {
    const Cause::Ends ends = cause.ends(network);
    for (const HostId a : ends.from)
      for (const HostId b : ends.to)
        if (a != b) change_pair(result, a, b, cause, quantity);
    if (quantity == Quantity::bandwidth) change_capacity(result, cause, ends);
  }
  return result;
}

std::string to_text(const Network& network, const Cause& cause) {
  const auto host = [&](std::int32_t id) { return network.hosts[index(id)].name; };
  switch (cause.what) {
  case What::trunk:
    return "trunk " + network.trunks[index(cause.from)].name;
  case What::sites:
    return "from the site of " + host(network.sites[index(cause.from)].front()) + " to that of " +
           host(network.sites[index(cause.to)].front());
  case What::egress:
    return "the egress of " + host(cause.from);
  case What::ingress:
    return "the ingress of " + host(cause.from);
  case What::pair:
    return "from " + host(cause.from) + " to " + host(cause.to);
  }
  return {};
}

} // namespace thalweg::runtime
