#include "runtime/adapt/causes.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace thalweg::runtime {
namespace {

using What = Cause::What;

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

network::Change Cause::on(const Network& network) const {
  const auto between = [this](std::vector<HostId> senders, std::vector<HostId> receivers,
                              const std::string& trunk = {}) {
    return network::Change{.what = what,
                           .from = std::move(senders),
                           .to = std::move(receivers),
                           .trunk = trunk,
                           .factor = factor,
                           .excess = units::Time(excess_ns * 1e-9)};
  };
  switch (what) {
  case What::trunk: {
    const network::Trunk& trunk = network.trunks[index(from)];
    return between(sorted(trunk.from), sorted(trunk.to), trunk.name);
  }
  case What::sites:
    return between(sorted(network.sites[index(from)]), sorted(network.sites[index(to)]));
  case What::egress:
    return between({from}, all_but(from, network.size()));
  case What::ingress:
    return between(all_but(from, network.size()), {from});
  case What::pair:
    return between({from}, {to});
  }
  return {};
}

Network changed(const Network& network, std::span<const Cause> causes, Quantity quantity) {
  Network result = network;
  for (const Cause& cause : causes)
    network::apply(result, cause.on(network), quantity);
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
