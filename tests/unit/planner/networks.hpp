#pragma once

#include "planner/table.hpp"

#include <array>
#include <string>
#include <utility>

namespace thalweg::planner::testing {

using collective::Kind;
using collective::Rank;
using network::HostId;
using network::Network;
using network::Placement;
using units::Rate;

inline Placement one_each(HostId hosts) {
  Placement placement;
  for (HostId host = 0; host < hosts; ++host)
    placement.push_back(host);
  return placement;
}

/// Two sites of `hosts` each: 100 Mbit/s ports, 1 Gbit/s between the sites, 10 ms away.
inline Network two_sites(HostId hosts) {
  Network net = network::even_network(2 * hosts, Time(1e-4), Rate(12.5e6));
  network::Trunk east{"west->east", {}, {}, Rate(125e6)};
  network::Trunk west{"east->west", {}, {}, Rate(125e6)};
  net.sites.assign(2, {});
  for (HostId host = 0; host < hosts; ++host) {
    for (const HostId here : {host, static_cast<HostId>(host + hosts)}) {
      net.hosts[static_cast<std::size_t>(here)].egress = Rate(12.5e6);
      net.hosts[static_cast<std::size_t>(here)].ingress = Rate(12.5e6);
    }
    east.from.push_back(host);
    east.to.push_back(host + hosts);
    for (HostId other = 0; other < hosts; ++other) {
      net.latency.set(host, other + hosts, Time(0.010));
      net.latency.set(other + hosts, host, Time(0.010));
    }
    net.sites[0].push_back(host);
    net.sites[1].push_back(host + hosts);
  }
  west.from = east.to;
  west.to = east.from;
  net.trunks = {east, west};
  net.message_costs["openmpi"] = {.send = Time(5e-6),
                                  .receive = Time(8e-6),
                                  .per_byte = Time(2e-10),
                                  .combine_per_byte = Time(3e-10)};
  return net;
}

inline constexpr std::array every_kind{Kind::bcast,    Kind::reduce,         Kind::allreduce,
                                       Kind::gather,   Kind::scatter,        Kind::allgather,
                                       Kind::alltoall, Kind::reduce_scatter, Kind::scan,
                                       Kind::exscan,   Kind::barrier};

/// The network, on which each of Open MPI's own collectives was measured to take `time`.
inline Network with_native(Network net, Time time) {
  net.native_times.clear();
  for (const Kind kind : every_kind)
    for (const Size size : {Size{8}, Size{10000}, Size{1000000}})
      if (kind != Kind::barrier || size == 8)
        net.native_times.push_back({"openmpi", std::string(collective::to_text(kind)),
                                    kind == Kind::barrier ? 0 : size, time});
  return net;
}
/// A network on which a plan is chosen wherever there is something to plan.
inline Network with_slow_native(Network net) { return with_native(std::move(net), Time(1e6)); }

/// For one rank on each host, with the costs of openmpi().
inline Problem problem(const Network& net, Kind kind, Size size, Rank root = 0) {
  return algorithms::make_problem({.kind = kind, .ranks = net.size(), .root = root, .size = size},
                                  net, one_each(net.size()), "openmpi");
}

inline PlanOptions openmpi() {
  PlanOptions options;
  options.library = "openmpi";
  return options;
}

} // namespace thalweg::planner::testing
