/// Bounds by what a single flow, and the connections of a pair of hosts, carry.
#include "../algorithms/networks.hpp"
#include "bounds/bounds.hpp"

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

Bound bound_of(Kind kind, const Network& network, Size size) {
  return bound({{.kind = kind, .ranks = network.size(), .size = size},
                network,
                one_rank_per_host(network.size())});
}

double seconds_of(Kind kind, const Network& network, Size size) {
  return bound_of(kind, network, size).time.value();
}

/// Two halves of `each` hosts, with fast pairs inside and slow ones between, and no known ports.
Network two_halves(HostId each, double inside, double between) {
  Network network = named_hosts(2 * each);
  for (HostId a = 0; a < 2 * each; ++a)
    for (HostId b = 0; b < 2 * each; ++b)
      if (a != b) {
        network.latency.set(a, b, Time(a / each == b / each ? 1e-4 : 1e-2));
        network.bandwidth.set(a, b, Rate(a / each == b / each ? inside : between));
      }
  return network;
}

constexpr Kind all_data_crosses[] = {Kind::bcast,     Kind::reduce,         Kind::scatter,
                                     Kind::gather,    Kind::allreduce,      Kind::scan,
                                     Kind::allgather, Kind::reduce_scatter, Kind::alltoall};

TEST_CASE("a single flow's rate limits two hosts, whatever their ports and trunks carry") {
  const double latency = 1e-2, time = 1e7 / 1e6 + latency;
  for (const Kind kind : all_data_crosses) {
    CAPTURE(collective::to_text(kind));
    Network network = two_halves(1, 1e6, 1e6);
    CHECK(seconds_of(kind, network, 10'000'000) == Approx(time));
    for (network::Host& host : network.hosts)
      host.egress = host.ingress = Rate(1e8);
    CHECK(seconds_of(kind, network, 10'000'000) == Approx(time));
    network.trunks = {{"there", {0}, {1}, Rate(1e8)}, {"back", {1}, {0}, Rate(1e8)}};
    CHECK(seconds_of(kind, network, 10'000'000) == Approx(time));
  }
}

TEST_CASE("each pair of ranks has a connection") {
  Network network = two_halves(1, 1e6, 1e6);
  for (network::Host& host : network.hosts)
    host.egress = host.ingress = Rate(1e8);
  const Problem problem{
      {.kind = Kind::bcast, .ranks = 5, .size = 6'000'000}, network, {0, 1, 1, 0, 1}};
  CHECK(bound(problem).time.value() == Approx(1 + 1e-2));
  CHECK(bound(problem).reason ==
        "pair host0 -> host1, host0 -> host1: 6MB / 48Mbps + 10ms latency");
}

TEST_CASE("a pair's error weakens its limit") {
  Network network = two_halves(1, 1e6, 1e6);
  network.bandwidth_error = network::Matrix<float>(2, 0.25F);
  network.hosts[0].egress = Rate(1e8);
  CHECK(seconds_of(Kind::bcast, network, 5'000'000) == Approx(4 + 1e-2));
}

TEST_CASE("what a host sends through a trunk is no more than its pairs carry") {
  // 1 MB/s from host 0 to each of two hosts; these have more for each other.
  Network network = two_halves(2, 1e8, 1e6);
  network.trunks = {{"up", {0, 1}, {2, 3}, Rate(1e9)}};
  const Problem problem{
      {.kind = Kind::scatter, .ranks = 3, .size = 10'000'000}, network, {0, 2, 3}};
  CHECK(bound(problem).time.value() == Approx(20e6 / 2e6 + 1e-2));
  const Problem gathered{
      {.kind = Kind::gather, .ranks = 3, .root = 2, .size = 10'000'000}, network, {0, 1, 2}};
  CHECK(bound(gathered).time.value() == Approx(20e6 / 2e6 + 1e-2));
}

TEST_CASE("what crosses between halves crosses the pairs between them, sites known or not") {
  Network network = two_halves(4, 1e8, 1e6);
  for (const bool sites : {false, true}) {
    network.sites.clear();
    if (sites) network.sites = {{0, 1, 2, 3}, {4, 5, 6, 7}};
    const Bound alltoall = bound_of(Kind::alltoall, network, 10'000'000);
    CHECK(alltoall.time.value() == Approx(16 * 1e7 / 16e6 + 1e-2));
    CHECK(alltoall.reason == "host0 and 3 more -> 4 hosts: 16 x 10MB / 128Mbps + 10ms latency");
    CHECK(seconds_of(Kind::allreduce, network, 160'000'000) >= 160e6 / 16e6 + 1e-2);
    CHECK(seconds_of(Kind::allgather, network, 40'000'000) >= 160e6 / 16e6 + 1e-2);
  }
}

TEST_CASE("pairs between halves count beside ports, and one way only if they are slow in one") {
  Network network = two_halves(4, 1e8, 1e6);
  for (network::Host& host : network.hosts)
    host.egress = host.ingress = Rate(1e8);
  for (HostId from = 0; from < 4; ++from)
    for (HostId to = 4; to < 8; ++to)
      network.bandwidth.set(from, to, Rate(1e8));
  CHECK(seconds_of(Kind::alltoall, network, 10'000'000) == Approx(16 * 1e7 / 16e6 + 1e-2));
}

TEST_CASE("many hosts in halves are bounded by the pairs between them") {
  const Network network = two_halves(65, 1e8, 1e6);
  CHECK(seconds_of(Kind::alltoall, network, 10'000'000) >= 1e7 / 1e6);
}

} // namespace
} // namespace thalweg::bounds
