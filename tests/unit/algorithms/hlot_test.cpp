#include "log_p.hpp"
#include "networks.hpp"
#include "optimization/prim.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <initializer_list>

namespace thalweg::algorithms {
namespace {

using namespace testing;
using collective::Kind;
using collective::no_rank;
using network::NetworkClass;

/// Symmetric latencies in ms from a lower triangle, row by row.
Network triangle(HostId hosts, std::initializer_list<double> values) {
  Network net = network::even_network(hosts, Time(1), Rate(1e9));
  const double* value = values.begin();
  for (HostId row = 1; row < hosts; ++row)
    for (HostId column = 0; column < row; ++column, ++value) {
      net.latency.set(row, column, Time(*value * 1e-3));
      net.latency.set(column, row, Time(*value * 1e-3));
    }
  return net;
}

/// Figures 1 and 2 of the paper, with latencies that give its totals.
Network eight_nodes() {
  return triangle(8, {220,                                 // B
                      280, 750,                            // C
                      120, 550, 650,                       // D
                      600, 900, 550, 750,                  // E
                      540, 400, 700, 800, 310,             // F
                      950, 500, 900, 950, 580, 290,        // G
                      310, 650, 950, 950, 800, 700, 240}); // H
}

Skeleton built(const char* name, const Network& net, Rank root = 0,
               const Parameters& parameters = {}) {
  const auto ranks = static_cast<Rank>(net.hosts.size());
  return find(name).build({{.kind = Kind::bcast, .ranks = ranks, .root = root, .size = 2},
                           net,
                           one_rank_per_host(ranks)},
                          parameters);
}

/// Returns when the last rank has the data, in ms, rounded, if only latencies count: equations 3
/// and 4.
long last(const Skeleton& skeleton, const Network& net) {
  const std::vector<double> times = delivery_times(
      skeleton, {}, [&](Rank from, Rank to) { return net.latency(from, to).value(); });
  return std::lround(*std::ranges::max_element(times) * 1e3);
}

std::vector<Rank> path(const Skeleton& skeleton, Rank rank) {
  std::vector<Rank> ranks = {rank};
  while (skeleton.parents.front()[index(ranks.back())] != no_rank)
    ranks.push_back(skeleton.parents.front()[index(ranks.back())]);
  std::ranges::reverse(ranks);
  return ranks;
}

TEST_CASE("Figure 2: binomial 1420, MST 1150, flat 950, HLOT 600") {
  const Network net = eight_nodes();
  constexpr Rank a = 0, e = 4, f = 5, g = 6, h = 7;
  const Skeleton binomial = built("binomial", net, 0, {.order = Order::rank});
  CHECK(last(binomial, net) == 1420);
  CHECK(path(binomial, h) == std::vector<Rank>{a, e, g, h});
  const Skeleton spanning = built("minimum-spanning-tree", net);
  CHECK(last(spanning, net) == 1150);
  CHECK(path(spanning, e) == std::vector<Rank>{a, h, g, f, e});
  CHECK(last(built("flat", net), net) == 950);
  CHECK(last(built("hlot", net), net) == 600);
}

TEST_CASE("a light WAN is flat, whatever its latencies, if the user declares it one") {
  Network net = eight_nodes();
  net.groups = {{"all", {0, 1, 2, 3, 4, 5, 6, 7}, NetworkClass::light_wan}};
  CHECK(last(built("hlot", net), net) == 950);
  net.groups.front().network_class = NetworkClass::heavy_wan;
  CHECK(last(built("hlot", net), net) == 600);
  net.groups.front().network_class = NetworkClass::lan; // binomial, in rank order
  CHECK(last(built("hlot", net), net) == 1420);
}

TEST_CASE("three nodes: MST 30, HLOT 25") {
  const Network net = triangle(3, {10, 25, 20});
  CHECK(last(built("minimum-spanning-tree", net), net) == 30);
  CHECK(last(built("hlot", net), net) == 25);
}

/// Returns the least latency of each rank from rank 0, over any others.
std::vector<double> shortest_paths(Rank ranks, const optimization::LinkWeight& weight) {
  std::vector<double> distances(index(ranks), 1e9);
  distances[0] = 0;
  for (Rank round = 1; round < ranks; ++round)
    for (Rank from = 0; from < ranks; ++from)
      for (Rank to = 0; to < ranks; ++to)
        distances[index(to)] =
            std::min(distances[index(to)], distances[index(from)] + weight(from, to));
  return distances;
}

TEST_CASE("no rank is farther from the root than by its direct link, nor nearer than can be") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const Network net = random_network(10, seed);
    const Problem problem{{.kind = Kind::bcast, .ranks = 10}, net, one_rank_per_host(10)};
    const optimization::LinkWeight latency = latency_weight(problem);
    Skeleton skeleton;
    skeleton.order = {0};
    skeleton.parents = {std::vector<Rank>(10, no_rank)};
    for (const optimization::Link& link :
         optimization::spanning_tree(one_rank_per_host(10), latency, optimization::Tie::upper,
                                     optimization::LinkTest::direct)) {
      skeleton.order.push_back(link.lower);
      skeleton.parents.front()[index(link.lower)] = link.upper;
    }
    const std::vector<double> times = delivery_times(skeleton, {}, latency);
    const std::vector<double> shortest = shortest_paths(10, latency);
    CHECK(skeleton.order.size() == 10);
    for (Rank rank = 1; rank < 10; ++rank) {
      CHECK(times[index(rank)] <= latency(0, rank) * (1 + 1e-12));
      CHECK(times[index(rank)] >= shortest[index(rank)] * (1 - 1e-12));
    }
  }
}

TEST_CASE("Prim's tree has the least sum of all trees of a few ranks") {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    constexpr Rank ranks = 5;
    Network net = network::even_network(ranks, Time(1), Rate(1e9));
    for (Rank a = 0; a < ranks; ++a)
      for (Rank b = 0; b < a; ++b) {
        const Time latency(static_cast<double>(1 + random() % 20));
        net.latency.set(a, b, latency);
        net.latency.set(b, a, latency);
      }
    const std::vector<Rank> tree = built("minimum-spanning-tree", net).parents.front();
    const auto sum = [&](const std::vector<Rank>& parents) {
      double total = 0;
      for (Rank rank = 1; rank < ranks; ++rank)
        total += net.latency(parents[index(rank)], rank).value();
      return total;
    };
    double least = 1e9;
    for (int code = 0; code < 5 * 5 * 5 * 5; ++code) { // any parents; only trees count
      std::vector<Rank> parents = {no_rank, code % 5, code / 5 % 5, code / 25 % 5, code / 125};
      const auto ends = [&](Rank rank) {
        for (int steps = 0; steps < ranks && rank != 0; ++steps)
          rank = parents[index(rank)];
        return rank == 0;
      };
      if (ends(1) && ends(2) && ends(3) && ends(4)) least = std::min(least, sum(parents));
    }
    CHECK(sum(tree) == doctest::Approx(least));
  }
}

TEST_CASE("LogP: three children get the data one gap after the other") {
  const Network net = network::even_network(4, Time(1), Rate(1e9));
  const std::vector<double> times = delivery_times(
      built("flat", net, 0, {.order = Order::rank}),
      {.send_overhead = 2, .gap = 3, .receive_overhead = 2}, [](Rank, Rank) { return 10.0; });
  CHECK(times == std::vector<double>{0, 14, 17, 20});
}

/// Two clusters in each of two organisations, of two hosts each: 0.1 ms, 2 ms, 60 to 160 ms.
Network organisations() {
  Network net = network::even_network(8, Time(1e-4), Rate(1e9));
  for (HostId a = 0; a < 8; ++a)
    for (HostId b = 0; b < 8; ++b) {
      if (a == b) continue;
      const double far = 20e-3 * (1 + a / 2) * (1 + b / 2);
      net.latency.set(a, b, Time(a / 2 == b / 2 ? 1e-4 : a / 4 == b / 4 ? 2e-3 : far));
    }
  return net;
}

TEST_CASE("MagPIe and MPICH-G2 cross the wide area once per cluster, from the root itself") {
  const Network net = organisations();
  for (const char* name : {"magpie", "mpich-g2"}) {
    CAPTURE(name);
    const std::vector<Rank> tree = built(name, net, 3).parents.front();
    // Cluster {2, 3} is led by the root, the others by their lowest rank.
    CHECK(tree == std::vector<Rank>{3, 0, 3, no_rank, 3, 4, 3, 6});
  }
}

TEST_CASE("HLOT reaches the other organisation's clusters through one of them") {
  const std::vector<Rank> tree = built("hlot", organisations(), 3).parents.front();
  CHECK(tree[2] == 3); // its own cluster
  CHECK(tree[0] == 3); // its own organisation
  CHECK(tree[4] == 3);
  CHECK(tree[6] == 4); // 2 ms from 4, which leads the other organisation
}

TEST_CASE("within a LAN MPICH-G2 keeps to clusters, MagPIe to ranks") {
  // Ranks dealt out in turn to two clusters 0.5 ms apart.
  Network net = network::even_network(8, Time(1e-4), Rate(1e9));
  for (HostId a = 0; a < 8; ++a)
    for (HostId b = 0; b < 8; ++b)
      if (a % 2 != b % 2) net.latency.set(a, b, Time(5e-4));
  const auto crossing = [&](const char* name) {
    const std::vector<Rank> tree = built(name, net).parents.front();
    int links = 0;
    for (Rank rank = 1; rank < 8; ++rank)
      links += rank % 2 != tree[index(rank)] % 2 ? 1 : 0;
    return links;
  };
  CHECK(crossing("mpich-g2") == 1);
  CHECK(crossing("hlot") == 1);
  CHECK(crossing("magpie") == 4); // binomial: 1-0, 3-2, 5-4, 7-6
}

} // namespace
} // namespace thalweg::algorithms
