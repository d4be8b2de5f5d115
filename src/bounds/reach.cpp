#include "bounds/reach.hpp"

#include <algorithm>

namespace thalweg::bounds {
namespace {

std::size_t index(network::HostId host) { return static_cast<std::size_t>(host); }

/// A measurement's relative error; without any, none.
double error_of(const network::Matrix<float>& errors, network::HostId from, network::HostId to) {
  return errors.size() == 0 ? 0 : static_cast<double>(errors(from, to));
}

} // namespace

Reach::Reach(const Problem& problem) {
  const network::Network& network = problem.network;
  std::vector<HostId> local(network.hosts.size(), network::no_host), used;
  for (const HostId host : problem.placement) {
    if (local[index(host)] == network::no_host) {
      local[index(host)] = size();
      used.push_back(host);
      names.push_back(network.hosts[index(host)].name);
      egress.push_back(network.hosts[index(host)].egress.value());
      ingress.push_back(network.hosts[index(host)].ingress.value());
    }
    host_of_rank.push_back(local[index(host)]);
  }

  for (const network::Trunk& trunk : network.trunks) {
    Trunk mine{trunk.name, {}, {}, trunk.capacity.value()};
    for (const HostId host : trunk.from)
      if (local[index(host)] != network::no_host) mine.from.push_back(local[index(host)]);
    for (const HostId host : trunk.to)
      if (local[index(host)] != network::no_host) mine.to.push_back(local[index(host)]);
    if (!mine.from.empty() && !mine.to.empty()) trunks.push_back(std::move(mine));
  }

  latency = network::Matrix<double>(used.size());
  pairs = network::Matrix<double>(used.size(), unlimited);
  for (HostId a = 0; a < size(); ++a)
    for (HostId b = 0; b < size(); ++b) {
      if (a == b) continue;
      const HostId from = used[index(a)], to = used[index(b)];
      latency(a, b) = network.latency(from, to).value() *
                      (1 - std::min(error_of(network.latency_error, from, to), 1.0));
      if (egress[index(a)] == unlimited && ingress[index(b)] == unlimited)
        pairs(a, b) =
            network.bandwidth(from, to).value() * (1 + error_of(network.bandwidth_error, from, to));
    }
  for (const Trunk& trunk : trunks)
    for (const HostId a : trunk.from)
      for (const HostId b : trunk.to)
        pairs(a, b) = unlimited;

  distance = latency;
  for (HostId via = 0; via < size(); ++via)
    for (HostId a = 0; a < size(); ++a)
      for (HostId b = 0; b < size(); ++b)
        distance(a, b) = std::min(distance(a, b), distance(a, via) + distance(via, b));
}

} // namespace thalweg::bounds
