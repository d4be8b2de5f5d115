#pragma once

#include "network/network.hpp"

#include <limits>

namespace thalweg::network::test {

/// Two sites of two hosts, with something in every member.
inline Network full_network() {
  Network n;
  for (const char* name : {"west0", "west1", "east0", "east1"})
    n.hosts.push_back({name, Rate(12.5e6), Rate(12.345678e6)});
  n.hosts[3].egress = Rate::infinity();
  n.latency = Matrix<Time>(4, Time(1.0 / 3e4));
  n.bandwidth = Matrix<Rate>(4, Rate(1e7 / 3));
  n.latency_error = Matrix<float>(4, 0.1F);
  n.bandwidth_error = Matrix<float>(4, 1.0F / 3);
  n.bandwidth_error.set(0, 1, std::numeric_limits<float>::infinity());
  for (HostId host = 0; host < 4; ++host) {
    n.latency.set(host, host, Time(0));
    n.bandwidth.set(host, host, Rate::infinity());
  }
  n.trunks = {{"west->east", {0, 1}, {2, 3}, Rate(125e6), 2},
              {"east->west", {2, 3}, {0, 1}, Rate(1e8 / 3)}};
  n.sites = {{0, 1}, {2, 3}};
  n.groups = {{"west", {0, 1}, NetworkClass::light_wan}, {"first", {0}}};
  n.initial_window = 14480;
  n.message_costs["openmpi"] = {Time(2e-6),  Time(1e-6 / 3), Time(1e-10),
                                Time(2e-10), Time(5e-6),     65536};
  n.native_times = {{"openmpi", "bcast", 8000000, Time(0.1234567)}};
  n.clock = Clock::shared;
  n.disturbance = {.pairs = 8, .latency = 0.25, .bandwidth = 0.1};
  n.measured_at = "2026-01-31T12:00:00Z";
  n.measured_with = "a test";
  return n;
}

} // namespace thalweg::network::test
