#include "simulator/narrow_ports.hpp"

#include "units/index.hpp"

#include <algorithm>

namespace thalweg::simulator {

namespace {

/// Returns the most bytes per second that can flow through each port, as if it were unlimited
/// itself.
std::vector<double> most_through(const Ports& ports) {
  const std::vector<double>& capacities = ports.capacities();
  std::vector<double> most(capacities.size(), 0);
  const auto count = static_cast<ConnectionId>(ports.connections());
  for (ConnectionId connection = 0; connection < count; ++connection) {
    const Path& path = ports.path(connection);
    if (path.from == path.to) continue;
    most[index(ports.egress(path.from))] += path.bandwidth;
    most[index(ports.ingress(path.to))] += path.bandwidth;
    for (const PortId trunk : ports.trunks(connection))
      most[index(trunk)] += path.bandwidth;
  }
  for (network::HostId host = 0; host < ports.hosts(); ++host)
    for (const PortId side : {ports.egress(host), ports.ingress(host)})
      most[index(ports.cpu(host))] += std::min(most[index(side)], capacities[index(side)]);
  return most;
}

} // namespace

NarrowPorts::NarrowPorts(const Ports& ports) {
  const std::vector<double> most = most_through(ports);
  const auto count = static_cast<ConnectionId>(ports.connections());
  for (ConnectionId connection = 0; connection < count; ++connection) {
    _begin.push_back(_route.size());
    for (const PortId port : ports.all(connection))
      if (most[index(port)] > ports.capacities()[index(port)]) _route.push_back(port);
  }
  _begin.push_back(_route.size());
}

} // namespace thalweg::simulator
