/// Bounds where little or nothing has to move, of many hosts, and of a single one.
#include "../algorithms/networks.hpp"
#include "bounds/bounds.hpp"
#include "bounds/reason.hpp"

#include <doctest/doctest.h>

namespace thalweg::bounds {
namespace {

using algorithms::testing::named_hosts;
using algorithms::testing::one_rank_per_host;
using collective::Kind;
using doctest::Approx;
using network::HostId;
using network::Network;
using units::Rate;
using units::Size;
using units::Time;

constexpr double near = 1e-4, far = 5e-2;

/// Hosts near each other, with known ports.
Network local_network(HostId hosts) {
  Network network = named_hosts(hosts);
  for (HostId a = 0; a < hosts; ++a)
    for (HostId b = 0; b < hosts; ++b)
      if (a != b) network.latency.set(a, b, Time(near));
  for (network::Host& host : network.hosts)
    host.egress = host.ingress = Rate(1e9);
  return network;
}

/// The last host is far away.
Network with_far_host(HostId hosts) {
  Network network = local_network(hosts);
  for (HostId host = 0; host + 1 < hosts; ++host) {
    network.latency.set(host, hosts - 1, Time(far));
    network.latency.set(hosts - 1, host, Time(far));
  }
  return network;
}

/// Two sites, far from each other.
Network far_sites(HostId each) {
  Network network = local_network(2 * each);
  for (HostId a = 0; a < 2 * each; ++a)
    for (HostId b = 0; b < 2 * each; ++b)
      if (a / each != b / each) network.latency.set(a, b, Time(far));
  return network;
}

TEST_CASE("a host that has nothing to send waits for nothing") {
  for (const HostId hosts : {5, 130}) {
    CAPTURE(hosts);
    const Network network = with_far_host(hosts);
    const auto at = [&](std::size_t from, std::size_t to) { return from * index(hosts) + to; };
    collective::Collective alltoall{.kind = Kind::alltoall,
                                    .ranks = hosts,
                                    .size = 1000,
                                    .block_sizes = std::vector<Size>(at(index(hosts), 0))};
    alltoall.block_sizes[at(0, 1)] = 1000;
    const Problem problem{alltoall, network, one_rank_per_host(hosts)};
    CHECK(bound(problem).time.value() == Approx(near + 1000 / 1e9));
  }
}

TEST_CASE("nothing crosses the network for blocks that stay on their host") {
  const Network network = local_network(2);
  const network::MessageCost cost{
      .send = Time(1e-5), .receive = Time(1e-5), .per_byte = Time(1e-9)};
  const collective::Collective alltoall{
      .kind = Kind::alltoall, .ranks = 2, .size = 1000, .block_sizes = {0, 0, 0, 1000}};
  CHECK(bound({alltoall, network, {0, 1}, cost}).time == Time());
}

TEST_CASE("only one host has data: it sends to the others and waits for none") {
  for (const HostId hosts : {3, 130}) {
    CAPTURE(hosts);
    // What leaves host 0 arrives soon, what comes to it does late.
    Network network = local_network(hosts);
    for (HostId host = 1; host < hosts; ++host)
      network.latency.set(host, 0, Time(far));
    collective::Collective allgather{.kind = Kind::allgather,
                                     .ranks = hosts,
                                     .size = 1000,
                                     .block_sizes = std::vector<Size>(index(hosts))};
    allgather.block_sizes[0] = 1000;
    // Nothing that counts comes to host 0.
    CHECK(bound({allgather, network, one_rank_per_host(hosts)}).time.value() < 2 * near);
  }
}

TEST_CASE("the distance between sites limits any number of hosts") {
  for (const HostId each : {64, 65}) {
    const Network network = far_sites(each);
    for (const Kind kind : collective::kinds) {
      CAPTURE(collective::to_text(kind));
      CAPTURE(each);
      const Size size = kind == Kind::barrier ? 0 : 8;
      const Bound found = bound({{.kind = kind, .ranks = network.size(), .size = size},
                                 network,
                                 one_rank_per_host(network.size())});
      CHECK(found.time.value() >= far);
      CHECK(found.time.value() < far + 2 * near);
    }
  }
}

TEST_CASE("combining takes a single host's time too") {
  const Network network = local_network(1);
  const network::MessageCost cost{.combine_per_byte = Time(1e-9)};
  const auto of = [&](Kind kind) {
    return bound({{.kind = kind, .ranks = 4, .size = 1'000'000}, network, {0, 0, 0, 0}, cost});
  };
  // On a core for each rank.
  CHECK(of(Kind::allreduce).time.value() == Approx(0.75e-3));
  CHECK(of(Kind::allreduce).reason == "combining on host0: 3 x 1MB / 32Gbps");
  CHECK(of(Kind::reduce).time.value() == Approx(0.75e-3));
  CHECK(of(Kind::exscan).time.value() == Approx(0.5e-3));
  CHECK(of(Kind::bcast).time == Time());
  CHECK(of(Kind::bcast).reason == "all ranks are on host0");
}

TEST_CASE("64 ranks of a host combine, send and receive on 64 cores") {
  Network network = local_network(2);
  for (network::Host& host : network.hosts)
    host.egress = host.ingress = Rate(12.5e9);
  const network::MessageCost cost{
      .send = Time(1e-6), .per_byte = Time(0.1e-9), .combine_per_byte = Time(0.3e-9)};
  network::Placement placement(128);
  for (std::size_t rank = 0; rank < placement.size(); ++rank)
    placement[rank] = static_cast<HostId>(rank / 64);
  const auto of = [&](Kind kind, Size size) {
    return bound({{.kind = kind, .ranks = 128, .size = size}, network, placement, cost}).time;
  };
  CHECK(of(Kind::allreduce, 8'000'000) < Time(4e-3)); // 152 ms on one core each
  CHECK(of(Kind::alltoall, 100'000) < Time(64 * 64 * 1e5 / 12.5e9 + 1e-3));
}

TEST_CASE("all cores of a host begin to send as soon as it is informed") {
  Network network = network::even_network(3, Time(5e-6), Rate(1e9));
  const network::MessageCost cost{.send = Time(1e-5), .receive = Time(1e-5)};
  const auto of = [&](Kind kind, const network::Placement& placement) {
    const auto ranks = static_cast<collective::Rank>(placement.size());
    return bound({{.kind = kind, .ranks = ranks, .size = 1}, network, placement, cost})
        .time.value();
  };
  for (const Kind kind : {Kind::bcast, Kind::reduce}) {
    CAPTURE(collective::to_text(kind));
    CHECK(of(kind, {0, 1, 2}) == Approx(3.5e-5).epsilon(1e-3));
    CHECK(of(kind, {0, 0, 1, 1, 2, 2}) == Approx(2.5e-5).epsilon(1e-3));
  }
}

TEST_CASE("more bytes than 64 bits count have a reason, too") {
  const auto of = [](double bytes, Size unit) {
    return reason("ports", bytes, 1e9, bytes / 1e9, unit);
  };
  CHECK(of(62 * 0x1p58, Size{1} << 58) == "ports: 62 x 288000TB / 8Gbps");
  CHECK(of(3e19, 0) == "ports: 30000000TB / 8Gbps");
  CHECK(of(3e19, 1) == "ports: 30000000TB / 8Gbps");
  CHECK(of(3e7, 1'000'000) == "ports: 30 x 1MB / 8Gbps");
  CHECK(of(30'000'001, 1'000'000) == "ports: 30MB / 8Gbps");
}

} // namespace
} // namespace thalweg::bounds
