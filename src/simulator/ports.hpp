#pragma once

#include "network/host_classes.hpp"
#include "simulator/workload.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace thalweg::simulator {

/// Index of a capacity that connections share: a host's CPU, egress or ingress, or a trunk.
using PortId = std::int32_t;

/// Seconds of skew between ranks that should act at the same time. On a shorter path a large
/// message is already flowing when the request for one in the other direction arrives.
inline constexpr double most_skew = 0.5e-3;

/// The resources that the messages of an ordered pair of ranks use.
struct Path {
  network::HostId from, to;
  double latency, answer_latency;           ///< seconds, in this direction and back
  double bandwidth;                         ///< bytes per second of a single flow; may be infinite
  std::int32_t begin, trunks, arrival, end; ///< where its kinds of ports begin in Ports::_route
};

/// The shared capacities of a network, and the connections' paths through them.
class Ports {
public:
  Ports(const network::Network& network, const network::Placement& placement,
        const network::MessageCost& cost, const network::TrunkSets& trunks,
        std::span<const std::pair<Rank, Rank>> connections);

  [[nodiscard]] std::size_t connections() const { return _paths.size(); }
  [[nodiscard]] const Path& path(ConnectionId connection) const {
    return _paths[static_cast<std::size_t>(connection)];
  }
  /// Returns the sender's CPU and egress, if finite.
  [[nodiscard]] std::span<const PortId> departure(ConnectionId connection) const {
    return route(path(connection).begin, path(connection).trunks);
  }
  [[nodiscard]] std::span<const PortId> trunks(ConnectionId connection) const {
    return route(path(connection).trunks, path(connection).arrival);
  }
  /// Returns the receiver's CPU and ingress, if finite.
  [[nodiscard]] std::span<const PortId> arrival(ConnectionId connection) const {
    return route(path(connection).arrival, path(connection).end);
  }
  [[nodiscard]] std::span<const PortId> all(ConnectionId connection) const {
    return route(path(connection).begin, path(connection).end);
  }
  [[nodiscard]] PortId egress(network::HostId host) const { return host; }
  [[nodiscard]] PortId ingress(network::HostId host) const { return _hosts + host; }
  [[nodiscard]] PortId cpu(network::HostId host) const { return 2 * _hosts + host; }
  [[nodiscard]] network::HostId hosts() const { return _hosts; }
  /// Returns bytes per second, by port.
  [[nodiscard]] const std::vector<double>& capacities() const { return _capacities; }
  /// Returns the seconds that the busiest port or connection takes for the bytes by port and by
  /// connection.
  [[nodiscard]] double busiest(std::span<const double> through_ports,
                               std::span<const double> through_connections) const;

private:
  [[nodiscard]] std::span<const PortId> route(std::int32_t begin, std::int32_t end) const {
    return std::span(_route).subspan(static_cast<std::size_t>(begin),
                                     static_cast<std::size_t>(end - begin));
  }
  void add_to_route(PortId port);

  network::HostId _hosts;
  std::vector<double> _capacities;
  std::vector<Path> _paths;
  std::vector<PortId> _route;
};

} // namespace thalweg::simulator
