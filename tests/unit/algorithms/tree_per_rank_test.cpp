#include "networks.hpp"
#include "schedule/verify.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>
#include <stdexcept>

namespace thalweg::algorithms {
namespace {

using namespace testing;
using collective::Kind;
using collective::no_rank;

constexpr std::array kinds_of_it = {Kind::allgather, Kind::reduce_scatter, Kind::alltoall,
                                    Kind::allreduce};

Skeleton build(const Network& network, Kind kind, Size size) {
  Placement placement(network.hosts.size());
  std::iota(placement.begin(), placement.end(), 0);
  const Problem problem{{.kind = kind, .ranks = network.size(), .size = size}, network, placement};
  Skeleton skeleton = find("tree-per-rank").build(problem, {});
  CHECK_NOTHROW(schedule::verify(problem.collective, expand(kind, skeleton, size)));
  return skeleton;
}

TEST_CASE("where all links are alike, data goes straight to its receivers") {
  for (const Kind kind : kinds_of_it) {
    const Skeleton skeleton = build(network::even_network(8, Time(1e-4), Rate(1e9)), kind, 1000);
    for (Rank root = 0; root < 8; ++root)
      for (Rank rank = 0; rank < 8; ++rank)
        CHECK(skeleton.parents[index(root)][index(rank)] == (rank == root ? no_rank : root));
  }
}

TEST_CASE("data goes around a long link, through any number of relays") {
  Network network = network::even_network(5, Time(0.1), Rate(1e9));
  for (HostId host = 0; host < 4; ++host) { // a chain of short links
    network.latency.set(host, host + 1, Time(1e-3));
    network.latency.set(host + 1, host, Time(1e-3));
  }
  for (const Kind kind : kinds_of_it) {
    const Skeleton skeleton = build(network, kind, 1000);
    for (Rank root = 0; root < 5; ++root)
      for (Rank rank = 0; rank < 5; ++rank)
        CHECK(skeleton.parents[index(root)][index(rank)] == (rank == root  ? no_rank
                                                             : rank < root ? rank + 1
                                                                           : rank - 1));
  }
}

TEST_CASE("data goes around a full trunk where it arrives earlier") {
  // From 0 and 1 to 2 and 3 there is little room, but much through 4 and 5.
  Network network = network::even_network(6, Time(1e-3), Rate(1e8));
  for (network::Host& host : network.hosts)
    host.egress = host.ingress = Rate(1e8);
  network.trunks = {{"narrow", {0, 1}, {2, 3}, Rate(1e5)}};
  const Skeleton skeleton = build(network, Kind::alltoall, 100'000); // a second each
  for (const Rank root : {2, 3})
    for (const Rank rank : {0, 1})
      CHECK(skeleton.parents[index(root)][index(rank)] >= 4);
  CHECK(skeleton.parents[0][2] == 0); // the other direction is free
}

TEST_CASE(
    "an allreduce cuts the vector into as many parts as ranks, each with a tree for both ways") {
  const Network network = network::even_network(4, Time(1e-4), Rate(1e9));
  const Skeleton skeleton = build(network, Kind::allreduce, 1000);
  CHECK(skeleton.chunks == 4);
  // Each part goes from three ranks to its owner, and back to the three.
  const Sink sink = emit(Kind::allreduce, skeleton, no_rank);
  CHECK(sink.transfers().size() == 4 * (3 + 3));
}

TEST_CASE("each rank must have a tree of its own") {
  const Skeleton good = build(network::even_network(4, Time(1e-4), Rate(1e9)), Kind::allgather, 8);
  CHECK_NOTHROW(check(good));
  Skeleton bad = good;
  bad.parents[0] = bad.parents[1];
  CHECK_THROWS_AS(check(bad), std::invalid_argument);
  bad = good;
  bad.parents.pop_back();
  CHECK_THROWS_AS(check(bad), std::invalid_argument);
}

} // namespace
} // namespace thalweg::algorithms
