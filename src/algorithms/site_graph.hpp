#pragma once

#include "algorithms/algorithm.hpp"

#include <cstdint>
#include <vector>

namespace thalweg::algorithms {

/// The direction of most of a collective's data, which decides which ports of a host are scarce.
enum class DataFlow : std::uint8_t {
  spread,  ///< from one to many: limited by what a host sends (bcast, allgather)
  collect, ///< from many to one: limited by what a host receives (reduce, reduce_scatter)
  both,    ///< there and back (allreduce)
};

/// Returns the direction of a collective that is made of trees: bcast, reduce, allreduce, allgather
/// or reduce_scatter.
[[nodiscard]] DataFlow flow_of(collective::Kind kind);

/// The hosts in use, numbered from 0, and the graph of sites that they contract to: hosts of one
/// site on the same side of every trunk. The data always spreads: for DataFlow::collect all
/// directions are reversed, for DataFlow::both the slower direction counts for both. All rates are
/// finite: an unlimited one counts as 1e12 bytes per second. O(hosts²).
struct SiteGraph {
  using HostId = network::HostId;
  using Site = std::int32_t;
  static constexpr Site no_site = -1;

  SiteGraph(const Problem& problem, DataFlow flow);

  /// A capacity shared by the flows from some sites to others, in bytes per second.
  struct Trunk {
    double capacity;
    std::vector<char> from, to;
  };

  [[nodiscard]] HostId size() const { return static_cast<HostId>(hosts.size()); }
  /// Returns the rate of a single flow, in bytes per second.
  [[nodiscard]] double bandwidth(HostId from, HostId to) const;
  /// Returns the rate of flows between different ranks of the two hosts, as many as there are:
  /// several leaders help if one flow can't fill a port.
  [[nodiscard]] double parallel_bandwidth(HostId from, HostId to) const;
  /// Returns seconds; for DataFlow::both of the slower direction.
  [[nodiscard]] double latency(HostId from, HostId to) const;

  const Network& network;
  DataFlow flow;
  std::vector<HostId> hosts;            ///< number -> host of the network
  std::vector<std::vector<Rank>> ranks; ///< by host
  std::vector<double> egress, ingress;  ///< the most that all flows of the host carry
  double fastest = 0;                   ///< the largest parallel_bandwidth()
  std::vector<Site> site_of;            ///< by host
  std::vector<std::vector<HostId>> sites;
  std::vector<Trunk> trunks;
  network::Matrix<double> latencies;  ///< by site, also within one: means over pairs
  network::Matrix<double> bandwidths; ///< by site: means over pairs; infinite without pairs

private:
  void add_hosts(const Problem& problem);
  void add_ports();
  void add_sites();
  void add_means();
};

/// Returns the graph of the problem's network and placement; a copy, O(hosts), if it is cached.
SiteGraph site_graph(const Problem& problem, DataFlow flow);

} // namespace thalweg::algorithms
