#pragma once

#include "algorithms/algorithm.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>

/// Networks and placements that the tests of algorithms and bounds share.
namespace thalweg::algorithms::testing {

using network::HostId;
using units::Rate;
using units::Time;

inline Network named_hosts(HostId count) {
  Network network;
  for (HostId host = 0; host < count; ++host)
    network.hosts.push_back({.name = "host" + std::to_string(host)});
  network.latency = network::Matrix<Time>(index(count));
  network.bandwidth = network::Matrix<Rate>(index(count), Rate(1e10));
  network.latency_error = network.bandwidth_error = network::Matrix<float>(index(count));
  return network;
}

/// Two sites of `each` hosts: 100 Mbit/s per host, 1 Gbit/s and 10 ms between the sites, 0.1 ms
/// inside. Hosts are dealt out in turn, so that their order says nothing.
inline Network two_sites(HostId each = 8) {
  Network network = named_hosts(2 * each);
  network::Trunk east{"west->east", {}, {}, Rate(125e6)}, west{"east->west", {}, {}, Rate(125e6)};
  network.sites.resize(2);
  for (HostId a = 0; a < network.size(); ++a) {
    network.hosts[index(a)].egress = network.hosts[index(a)].ingress = Rate(12.5e6);
    network.sites[index(a % 2)].push_back(a);
    (a % 2 == 0 ? east.from : east.to).push_back(a);
    (a % 2 == 0 ? west.to : west.from).push_back(a);
    for (HostId b = 0; b < network.size(); ++b) {
      if (a == b) continue;
      network.latency.set(a, b, Time(a % 2 == b % 2 ? 1e-4 : 1e-2));
      network.bandwidth.set(a, b, Rate(12.5e6));
    }
  }
  network.trunks = {east, west};
  return network;
}

/// Draws any kind of network: asymmetric, with or without capacities, trunks and sites.
inline Network random_network(HostId count, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random()) / 4294967296.0;
  };
  Network network = named_hosts(count);
  for (HostId a = 0; a < count; ++a)
    for (HostId b = 0; b < count; ++b) {
      if (a == b) continue;
      network.latency.set(a, b, Time(uniform(0, 1e-2)));
      network.bandwidth.set(a, b, Rate(uniform(1e6, 4e6)));
    }
  if (random() % 2 == 0)
    for (network::Host& host : network.hosts) {
      host.egress = Rate(uniform(2e6, 1e7));
      if (random() % 2 == 0) host.ingress = Rate(uniform(2e6, 1e7));
    }
  if (count > 2 && random() % 2 == 0) {
    network.sites.resize(1 + random() % 3);
    for (HostId host = 0; host < count; ++host)
      network.sites[random() % network.sites.size()].push_back(host);
    std::erase_if(network.sites, [](const auto& site) { return site.empty(); });
  }
  for (auto trunks = random() % 3; count > 1 && trunks > 0; --trunks) {
    network::Trunk trunk{"trunk" + std::to_string(trunks), {}, {}, Rate(uniform(1e6, 1e7))};
    for (HostId host = 0; host < count; ++host)
      if (const auto side = random() % 3; side < 2)
        (side == 0 ? trunk.from : trunk.to).push_back(host);
    if (!trunk.from.empty() && !trunk.to.empty()) network.trunks.push_back(trunk);
  }
  return network;
}

/// Draws 2 to 8 sites with 1 to 4 hosts each, at 10 or 25 Gbit/s and 5 to 150 ms apart, with or
/// without trunks, slower single flows and slow start.
inline Network long_fat_network(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random()) / 4294967296.0;
  };
  const auto sites = static_cast<HostId>(2 + random() % 7);
  const auto each = static_cast<HostId>(1 + random() % (sites <= 4 ? 4 : 2));
  const double slow = 1.25e9, fast = 3.125e9, nic = random() % 2 == 0 ? slow : fast;
  const double flows = random() % 3 == 0 ? 4 : 1; // that a path may need to be filled
  Network network = network::even_network(sites * each, Time(5e-5), Rate(nic));
  network.sites.assign(index(sites), {});
  for (HostId host = 0; host < network.size(); ++host) {
    network.hosts[index(host)].egress = network.hosts[index(host)].ingress = Rate(nic);
    network.sites[index(host / each)].push_back(host);
  }
  const bool has_trunks = random() % 2 == 0;
  for (HostId from = 0; from < sites; ++from)
    for (HostId to = 0; to < sites; ++to) {
      if (from == to) continue;
      const Time latency(0.005 * std::pow(30, uniform(0, 1)));
      const Rate rate(std::min(nic, uniform(slow, fast) / std::floor(uniform(1, flows + 0.99))));
      for (const HostId a : network.sites[index(from)])
        for (const HostId b : network.sites[index(to)]) {
          network.latency.set(a, b, latency);
          network.bandwidth.set(a, b, rate);
        }
      if (has_trunks && random() % 2 == 0)
        network.trunks.push_back({std::to_string(from) + "->" + std::to_string(to),
                                  network.sites[index(from)], network.sites[index(to)],
                                  Rate(uniform(slow, fast))});
    }
  if (random() % 2 == 0) network.initial_window = 14480;
  network.message_costs["test"] = random() % 3 == 0
                                      ? network::no_cost
                                      : network::MessageCost{.send = Time(uniform(0, 5e-6)),
                                                             .receive = Time(uniform(0, 5e-6)),
                                                             .per_byte = Time(uniform(0, 2e-10)),
                                                             .combine_per_byte = Time(2e-10),
                                                             .handshake = Time(5e-6),
                                                             .eager_limit = 16384 << random() % 3};
  return network;
}

/// Rank r on host r.
inline Placement one_rank_per_host(Rank ranks) {
  Placement placement(index(ranks));
  std::iota(placement.begin(), placement.end(), 0);
  return placement;
}

/// Ranks on hosts: one each in order, several each in blocks, or at random.
inline Placement random_placement(Rank ranks, HostId hosts, std::uint32_t seed) {
  std::mt19937 random(seed);
  Placement placement;
  const auto style = random() % 3;
  const Rank per_host = (ranks + hosts - 1) / hosts;
  for (Rank rank = 0; rank < ranks; ++rank)
    placement.push_back(style == 0   ? rank % hosts
                        : style == 1 ? rank / per_host
                                     : static_cast<HostId>(random() % index(hosts)));
  return placement;
}

} // namespace thalweg::algorithms::testing
