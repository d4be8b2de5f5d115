#include "algorithms/sites/groups.hpp"
#include "networks.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <set>

namespace thalweg::algorithms {
namespace {

using namespace testing;
using collective::Kind;
using schedule::Transfer;

/// Three continents of two sites of two hosts each: 0.1 ms, 5 ms and 50 ms. Host h is on site h % 6
/// and continent h % 3.
Network continents() {
  Network network = named_hosts(12);
  for (HostId a = 0; a < 12; ++a)
    for (HostId b = 0; b < 12; ++b)
      if (a != b)
        network.latency.set(a, b, Time(a % 6 == b % 6 ? 1e-4 : a % 3 == b % 3 ? 5e-3 : 5e-2));
  return network;
}

TEST_CASE("groups of hosts are as far apart as the count of them asks for") {
  const Network network = continents();
  const Problem problem{{.kind = Kind::allreduce, .ranks = 12}, network, one_rank_per_host(12)};
  const Dendrogram tree(problem);
  CHECK(tree.hosts() == 12);
  CHECK(tree.natural_counts() == std::vector<std::size_t>{6, 3}); // 50 times, 10 times
  using Groups = std::vector<std::vector<Rank>>;
  CHECK(tree.cut(3) == Groups{{0, 3, 6, 9}, {1, 4, 7, 10}, {2, 5, 8, 11}});
  CHECK(tree.cut(6) == Groups{{0, 6}, {1, 7}, {2, 8}, {3, 9}, {4, 10}, {5, 11}});
  CHECK(tree.cut(1).size() == 1);
  CHECK(tree.cut(12).size() == 12);
  CHECK(tree.cut(100) == tree.cut(12));
}

TEST_CASE("ranks of a host are one group, and a trunk sets groups of equal latency apart") {
  Network network = network::even_network(4, Time(1e-4), Rate(1e9));
  network.trunks = {{"racks", {0, 2}, {1, 3}, Rate(1e9)}};
  const Problem problem{{.kind = Kind::allreduce, .ranks = 8}, network, {0, 0, 1, 1, 2, 2, 3, 3}};
  const Dendrogram tree(problem);
  CHECK(tree.hosts() == 4);
  CHECK(tree.natural_counts() == std::vector<std::size_t>{2});
  CHECK(tree.cut(2) == std::vector<std::vector<Rank>>{{0, 1, 4, 5}, {2, 3, 6, 7}});
}

TEST_CASE(
    "data crosses between groups once, over as many connections as there are pairs of owners") {
  const Network network = continents();
  const auto crossing = [&](Kind kind, Rank senders) {
    const Problem problem{
        {.kind = kind, .ranks = 12, .size = 1 << 20}, network, one_rank_per_host(12)};
    const Parameters parameters{.degree = 3, .senders = senders};
    const Skeleton skeleton = find("group-exchange").build(problem, parameters);
    std::set<std::pair<Rank, Rank>> pairs;
    std::map<std::pair<Rank, Rank>, ChunkId> chunks; // by continents
    const schedule::Schedule schedule = expand(kind, skeleton, 1 << 20);
    for (const Transfer& t : schedule.transfers())
      if (t.from % 3 != t.to % 3) {
        pairs.emplace(t.from, t.to);
        for (const schedule::Range& range : t.what)
          chunks[{t.from % 3, t.to % 3}] += range.count;
      }
    // A block collective moves the blocks of 4 ranks from a continent, or to it.
    const ChunkId expected = kind == Kind::allreduce ? skeleton.chunks : skeleton.chunks / 12 * 4;
    CHECK(chunks.size() == 6);
    CHECK(std::ranges::all_of(chunks, [&](const auto& each) { return each.second == expected; }));
    return pairs.size();
  };
  CHECK(crossing(Kind::allreduce, 0) == 6 * 4 * 4);
  CHECK(crossing(Kind::allgather, 0) == 6 * 4 * 4);
  CHECK(crossing(Kind::reduce_scatter, 0) == 6 * 4 * 4);
  CHECK(crossing(Kind::allreduce, 1) == 6);
  CHECK(crossing(Kind::allgather, 1) == 6 * 4); // each rank to the owner
}

TEST_CASE("data crosses between groups only once on its path from any rank to any other") {
  const Network network = continents();
  for (const Kind kind :
       {Kind::bcast, Kind::reduce, Kind::allreduce, Kind::allgather, Kind::reduce_scatter}) {
    CAPTURE(collective::to_text(kind));
    const Problem problem{
        {.kind = kind, .ranks = 12, .size = 1 << 20}, network, one_rank_per_host(12)};
    const Skeleton skeleton = find("group-exchange").build(problem, {.degree = 3});
    std::map<std::pair<Rank, ChunkId>, int> crossings; // that a rank's content of a chunk made
    int most = 0;
    const schedule::Schedule schedule = expand(kind, skeleton, 1 << 20);
    for (const Transfer& t : schedule.transfers()) {
      if (t.src != 0 || t.dst != 0) continue; // sums of others, kept apart
      for (const schedule::Range& range : t.what)
        for (ChunkId i = 0; i < range.count; ++i) {
          const ChunkId chunk = range.first + i * range.stride;
          const int made = crossings[{t.from, chunk}] + (t.from % 3 == t.to % 3 ? 0 : 1);
          int& there = crossings[{t.to, chunk}];
          there = std::max(there, made);
          most = std::max(most, there);
        }
    }
    CHECK(most == 1);
  }
}

TEST_CASE("a host with a slow port owns no data of others") {
  Network network = continents();
  for (network::Host& host : network.hosts)
    host.egress = host.ingress = Rate(1e9);
  network.hosts[4].egress = Rate(1e8);
  const Problem problem{
      {.kind = Kind::allreduce, .ranks = 12, .size = 1 << 20}, network, one_rank_per_host(12)};
  const Skeleton skeleton = find("group-exchange").build(problem, {.degree = 3});
  CHECK(skeleton.senders == std::vector<Rank>{4, 3, 4});
  const schedule::Schedule schedule = expand(Kind::allreduce, skeleton, 1 << 20);
  for (const Transfer& t : schedule.transfers())
    if (t.from % 3 != t.to % 3) {
      CHECK(t.from != 4);
      CHECK(t.to != 4);
    }
}

} // namespace
} // namespace thalweg::algorithms
