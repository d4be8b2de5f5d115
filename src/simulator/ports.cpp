#include "simulator/ports.hpp"

#include <cmath>
#include <limits>

namespace thalweg::simulator {

namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

} // namespace

Ports::Ports(const network::Network& network, const network::Placement& placement,
             const network::MessageCost& cost, const network::TrunkSets& trunks,
             std::span<const std::pair<Rank, Rank>> connections)
    : _hosts(network.size()) {
  const double rate = cost.per_byte.value() > 0 ? 1 / cost.per_byte.value() : unlimited;
  for (const network::Host& host : network.hosts)
    _capacities.push_back(host.egress.value());
  for (const network::Host& host : network.hosts)
    _capacities.push_back(host.ingress.value());
  _capacities.resize(_capacities.size() + network.hosts.size(), rate);
  for (const network::Trunk& trunk : network.trunks)
    _capacities.push_back(trunk.capacity.value());

  for (const auto& [sender, receiver] : connections) {
    const network::HostId from = placement[static_cast<std::size_t>(sender)];
    const network::HostId to = placement[static_cast<std::size_t>(receiver)];
    Path path{};
    path.from = from;
    path.to = to;
    path.latency = network.latency(from, to).value();
    path.answer_latency = network.latency(to, from).value();
    path.bandwidth = network.bandwidth(from, to).value();
    path.begin = static_cast<std::int32_t>(_route.size());
    if (from != to) {
      add_to_route(cpu(from));
      add_to_route(egress(from));
    }
    path.trunks = static_cast<std::int32_t>(_route.size());
    if (from != to)
      for (const std::int32_t trunk : trunks.between(from, to))
        add_to_route(3 * _hosts + trunk);
    path.arrival = static_cast<std::int32_t>(_route.size());
    if (from != to) {
      add_to_route(cpu(to));
      add_to_route(ingress(to));
    }
    path.end = static_cast<std::int32_t>(_route.size());
    _paths.push_back(path);
  }
}

double Ports::busiest(std::span<const double> through_ports,
                      std::span<const double> through_connections) const {
  double most = 0;
  for (std::size_t port = 0; port < through_ports.size(); ++port)
    if (through_ports[port] > 0) most = std::max(most, through_ports[port] / _capacities[port]);
  for (std::size_t at = 0; at < through_connections.size(); ++at)
    if (through_connections[at] > 0)
      most = std::max(most, through_connections[at] / _paths[at].bandwidth);
  return most;
}

void Ports::add_to_route(PortId port) {
  if (std::isfinite(_capacities[static_cast<std::size_t>(port)])) _route.push_back(port);
}

} // namespace thalweg::simulator
