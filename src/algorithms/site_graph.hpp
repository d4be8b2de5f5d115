#pragma once

#include "algorithms/algorithm.hpp"

#include <cstdint>
#include <vector>

namespace thalweg::algorithms {

/// Where most of a collective's data goes, and with that which ports of a host are scarce.
enum class DataFlow : std::uint8_t {
  spread,  ///< from one to many: what a host sends (bcast, allgather)
  collect, ///< from many to one: what a host receives (reduce, reduce_scatter)
  both,    ///< there and back (allreduce)
};

/// The hosts in use, numbered from 0, and the graph of sites that they contract to: hosts of one
/// site that lie on the same side of every trunk. Seen so that data spreads: for DataFlow::collect
/// with all directions reversed, for DataFlow::both with the slower port for both. O(hosts²).
struct SiteGraph {
  using HostId = network::HostId;
  using Site = std::int32_t;
  static constexpr Site no_site = -1;

  SiteGraph(const Problem& problem, DataFlow flow);

  /// A capacity shared by the flows from some sites to others, bytes per second.
  struct Trunk {
    double capacity;
    std::vector<char> from, to;
  };

  [[nodiscard]] HostId size() const { return static_cast<HostId>(hosts.size()); }
  /// Of a single flow, bytes per second.
  [[nodiscard]] double bandwidth(HostId from, HostId to) const;
  /// Of a flow each between different ranks of the two hosts, as many as there are: several leaders
  /// where one flow can't fill a port.
  [[nodiscard]] double parallel_bandwidth(HostId from, HostId to) const;
  /// Seconds; for DataFlow::both of the slower direction.
  [[nodiscard]] double latency(HostId from, HostId to) const;

  const Network& network;
  DataFlow flow;
  std::vector<HostId> hosts;            ///< number -> host of the network
  std::vector<std::vector<Rank>> ranks; ///< by host
  std::vector<double> egress, ingress;  ///< at most what all flows of the host carry: finite
  std::vector<Site> site_of;            ///< by host
  std::vector<std::vector<HostId>> sites;
  std::vector<Trunk> trunks;
  network::Matrix<double> latencies;  ///< by site, within one too: means of their pairs
  network::Matrix<double> bandwidths; ///< by site: means of their pairs; infinite without pairs

private:
  void add_hosts(const Problem& problem);
  void add_ports();
  void add_sites();
  void add_means();
};

/// That of the problem's network and placement. A copy of it, O(hosts), if it is kept.
SiteGraph site_graph(const Problem& problem, DataFlow flow);

} // namespace thalweg::algorithms
