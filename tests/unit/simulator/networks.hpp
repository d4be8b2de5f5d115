#pragma once

#include "simulator/simulator.hpp"

/// Small networks and schedules whose times can be worked out by hand.
namespace thalweg::simulator::testing {

using collective::Collective;
using collective::Kind;
using network::HostId;
using network::Network;
using network::Placement;
using schedule::How;
using schedule::Range;
using schedule::Schedule;
using schedule::Sink;
using units::Rate;

/// Hosts 0, 1, ... in their order.
inline Placement one_each(HostId hosts) {
  Placement placement;
  for (HostId host = 0; host < hosts; ++host)
    placement.push_back(host);
  return placement;
}

/// Every pair 10 ms and 1000 B/s; ports of 1000 B/s.
inline Network ports_network(HostId hosts) {
  Network net = network::even_network(hosts, Time(0.010), Rate(1000));
  for (auto& host : net.hosts)
    host.egress = host.ingress = Rate(1000);
  return net;
}

/// The options of a fidelity.
inline SimulationOptions with(Fidelity fidelity, int window = 8) {
  SimulationOptions options;
  options.fidelity = fidelity;
  options.window = window;
  options.timeline = true;
  return options;
}

inline const Fidelity both[] = {Fidelity::fast, Fidelity::fluid};

} // namespace thalweg::simulator::testing
