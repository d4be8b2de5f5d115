#include "algorithms/algorithm.hpp"
#include "networks.hpp"
#include "schedule/verify.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <numeric>

namespace thalweg::algorithms {
namespace {

using namespace testing;
using collective::Kind;
using collective::no_rank;

Placement on_hosts(Rank ranks, Rank each = 1) {
  Placement placement;
  for (Rank rank = 0; rank < ranks; ++rank)
    placement.push_back(rank / each);
  return placement;
}

/// Levels by powers of k.
const Parameters by_powers{.scale = network::Scale::logarithmic};

/// Sixteen hosts, the closer the nearer their numbers, in pairs and pairs of pairs.
Network pairs_of_sixteen() {
  Network net = network::even_network(16, Time(1), Rate(1e9));
  for (HostId a = 0; a < 16; ++a)
    for (HostId b = 0; b < 16; ++b)
      net.latency.set(a, b, Time(std::abs(a - b)));
  net.bandwidth = network::Matrix<Rate>(16, Rate::infinity());
  for (HostId host = 0; host < 16; host += 2)
    net.groups.push_back({"pair" + std::to_string(host), {host, host + 1}});
  return net;
}

std::vector<Rank> parents(const Network& net, Kind kind, Rank ranks, Rank root, Placement placement,
                          const Parameters& parameters = {}) {
  const Collective collective{.kind = kind, .ranks = ranks, .root = root, .size = 1000};
  const Skeleton skeleton =
      find("distance-tree").build({collective, net, std::move(placement)}, parameters);
  schedule::verify(collective, expand(kind, skeleton, 1000));
  return skeleton.parents.front();
}

TEST_CASE("CMPI's example of 16 hosts: the last quad is split") {
  const std::vector<Rank> expected = {no_rank, 0, 0, 1, 0, 4, 4, 5, 1, 8, 8, 9, 2, 12, 3, 14};
  for (const Kind kind : {Kind::gather, Kind::scatter, Kind::bcast, Kind::reduce})
    CHECK(parents(pairs_of_sixteen(), kind, 16, 0, on_hosts(16), by_powers) == expected);
}

TEST_CASE("blocks of unequal sizes take the same tree") {
  Collective collective{.kind = Kind::gather, .ranks = 16, .size = 1000};
  const Network net = pairs_of_sixteen();
  const Skeleton equal = find("distance-tree").build({collective, net, on_hosts(16)}, {});
  for (Rank rank = 0; rank < 16; ++rank) // some without content, 1000 bytes on average
    collective.block_sizes.push_back(rank % 4 == 0 ? 0 : 4000 / 3);
  for (const Kind kind : {Kind::gather, Kind::scatter}) {
    collective.kind = kind;
    const Skeleton unequal = find("distance-tree").build({collective, net, on_hosts(16)}, {});
    CHECK(unequal.parents == equal.parents);
    schedule::verify(collective, expand(kind, unequal, collective.size));
  }
}

TEST_CASE("a flat group hangs below its root as one subtree") {
  const Network net = network::even_network(64, Time(1e-3), Rate(1e8));
  const std::vector<Rank> tree = parents(net, Kind::gather, 64, 5, on_hosts(64));
  CHECK(std::ranges::count(tree, 5) == 1);
  // Not a chain: put together in balance, all is within twice log2 of the root.
  int deepest = 0;
  for (Rank rank = 0; rank < 64; ++rank) {
    int depth = 0;
    for (Rank at = rank; at != 5; at = tree[index(at)])
      ++depth;
    deepest = std::max(deepest, depth);
  }
  CHECK(deepest <= 12);
}

TEST_CASE("ranks of the root's host are one more level below") {
  // Two hosts of four ranks: those of the root's are attached first, then each takes over one of
  // the four of the other.
  const Network net = network::even_network(2, Time(1e-3), Rate(1e8));
  const std::vector<Rank> tree = parents(net, Kind::gather, 8, 0, on_hosts(8, 4));
  for (Rank rank = 1; rank < 4; ++rank)
    CHECK(tree[index(rank)] < 4);
  for (Rank rank = 4; rank < 8; ++rank)
    CHECK(tree[index(rank)] == rank - 4);
}

TEST_CASE("a subtree's root is whoever reaches its parent best, in the direction of the data") {
  Network net = pairs_of_sixteen();
  const std::vector<Rank> before = parents(net, Kind::gather, 16, 0, on_hosts(16), by_powers);
  CHECK(before[4] == 0);
  net.latency.set(6, 0, Time(1)); // towards the root only
  CHECK(parents(net, Kind::gather, 16, 0, on_hosts(16), by_powers)[6] == 0);
  CHECK(parents(net, Kind::scatter, 16, 0, on_hosts(16), by_powers)[4] == 0);
}

TEST_CASE("k changes the hierarchy, and so the tree") {
  // With k = 4 hosts 0 to 3 are alike; with k = 2 only neighbours are.
  Network net = pairs_of_sixteen();
  net.groups.clear();
  const std::vector<Rank> coarse = parents(net, Kind::gather, 16, 0, on_hosts(16), {.base = 4});
  const std::vector<Rank> fine = parents(net, Kind::gather, 16, 0, on_hosts(16), {.base = 2});
  CHECK(coarse != fine);
}

TEST_CASE("T_span and how groups are made equal change the tree") {
  // Racks of 10 and 6.
  Network net = network::even_network(16, Time(1), Rate(1e9));
  for (HostId a = 0; a < 16; ++a)
    for (HostId b = 0; b < 16; ++b)
      if (a != b) net.latency.set(a, b, Time((a < 10) == (b < 10) ? 1 : 100));
  const auto tree = [&](const Parameters& parameters_) {
    return parents(net, Kind::gather, 16, 0, on_hosts(16), parameters_);
  };
  const auto crossing = [](const std::vector<Rank>& from) {
    int links = 0;
    for (Rank rank = 1; rank < 16; ++rank)
      links += (rank < 10) != (from[index(rank)] < 10) ? 1 : 0;
    return links;
  };
  CHECK(crossing(tree({.span = 4, .adjust = network::Adjust::printed})) ==
        crossing(tree({.span = 4})));
  // 8 + 8: two of the first rack are taken for members of the second.
  CHECK(tree({.adjust = network::Adjust::printed}) != tree({}));
}

} // namespace
} // namespace thalweg::algorithms
