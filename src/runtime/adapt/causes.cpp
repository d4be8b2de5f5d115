#include "runtime/adapt/causes.hpp"

#include "units/index.hpp"

#include <algorithm>

namespace thalweg::runtime {
namespace {

using What = Cause::What;

bool has(std::span<const HostId> hosts, HostId host) {
  return std::ranges::find(hosts, host) != hosts.end();
}

} // namespace

bool Cause::covers(const Network& network, HostId from_host, HostId to_host) const {
  switch (what) {
  case What::trunk: {
    const network::Trunk& trunk = network.trunks[index(from)];
    return has(trunk.from, from_host) && has(trunk.to, to_host);
  }
  case What::sites:
    return has(network.sites[index(from)], from_host) && has(network.sites[index(to)], to_host);
  case What::egress:
    return from_host == from && to_host != from;
  case What::ingress:
    return to_host == from && from_host != from;
  case What::pair:
    return from_host == from && to_host == to;
  }
  return false;
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

void change_capacity(Network& network, const Cause& cause) {
  const auto scale = [&](units::Rate& rate) { rate = units::Rate(rate.value() / cause.factor); };
  if (cause.what == What::trunk) scale(network.trunks[index(cause.from)].capacity);
  if (cause.what == What::egress) scale(network.hosts[index(cause.from)].egress);
  if (cause.what == What::ingress) scale(network.hosts[index(cause.from)].ingress);
  if (cause.what != What::sites) return;
  for (network::Trunk& trunk : network.trunks)
    if (cause.covers(network, trunk.from.front(), trunk.to.front())) scale(trunk.capacity);
}

} // namespace

Network changed(const Network& network, std::span<const Cause> causes, Quantity quantity) {
  Network result = network;
  for (const Cause& cause : causes) {
    for (HostId a = 0; a < network.size(); ++a)
      for (HostId b = 0; b < network.size(); ++b)
        if (a != b && cause.covers(network, a, b)) change_pair(result, a, b, cause, quantity);
    if (quantity == Quantity::bandwidth) change_capacity(result, cause);
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
