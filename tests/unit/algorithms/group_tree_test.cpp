#include "algorithms/sites/owners.hpp"
#include "networks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <doctest/doctest.h>
#include <map>
#include <set>
#include <utility>

namespace thalweg::algorithms {
namespace {

using namespace testing;
using collective::Kind;
using schedule::Transfer;

/// Sites of two hosts at a star's arms of different lengths; hosts 2s and 2s + 1 are at arm s.
Network star(const std::vector<double>& arms) {
  const auto hosts = static_cast<HostId>(2 * arms.size());
  Network network = named_hosts(hosts);
  for (HostId a = 0; a < hosts; ++a)
    for (HostId b = 0; b < hosts; ++b)
      if (a != b)
        network.latency.set(a, b,
                            Time(a / 2 == b / 2 ? 1e-4 : arms[index(a / 2)] + arms[index(b / 2)]));
  return network;
}

TEST_CASE("each site sends its data to one other, and the longest way between two sites counts") {
  // The site at the centre is one root; the farthest one is the other, so that no data goes from it
  // to the centre and back.
  const Network network = star({0.02, 0.001, 0.015, 0.03});
  const Problem problem{
      {.kind = Kind::allreduce, .ranks = 8, .size = 1 << 14}, network, one_rank_per_host(8)};
  const Skeleton skeleton = find("group-tree").build(problem, {.degree = 4});
  std::map<std::pair<Rank, Rank>, std::set<Rank>> crossings; // senders, by sites
  const schedule::Schedule schedule = expand(Kind::allreduce, skeleton, 1 << 14);
  for (const Transfer& t : schedule.transfers())
    if (t.from / 2 != t.to / 2) crossings[{t.from / 2, t.to / 2}].insert(t.from);
  std::set<std::pair<Rank, Rank>> links;
  for (const auto& [sites, senders] : crossings) {
    links.insert(sites);
    CHECK(senders.size() == 2); // half of the data each
  }
  CHECK(links == std::set<std::pair<Rank, Rank>>{{0, 1}, {1, 0}, {2, 1}, {1, 2}, {3, 1}, {1, 3}});
  // The roots' groups come first.
  const std::set<Rank> roots = {skeleton.order[0] / 2, skeleton.order[2] / 2};
  CHECK(roots == std::set<Rank>{1, 3});
}

TEST_CASE("owners of unequal groups have equal shares, and few others to share them with") {
  for (const auto& [a, b] : std::vector<std::pair<Rank, Rank>>{{4, 3}, {6, 8}, {5, 5}, {1, 7}}) {
    const std::vector<std::int32_t> weights = weights_of_shares({a, b});
    CHECK(weights.size() <= index(a + b - 1));
    Skeleton skeleton;
    skeleton.ranks = a + b;
    for (Rank rank = 0; rank < a + b; ++rank)
      skeleton.order.push_back(rank);
    skeleton.site_begins = {0, a};
    skeleton.senders = {a, b};
    skeleton.weights = weights;
    skeleton.chunks = static_cast<ChunkId>(weights.size());
    const GroupOwners groups(Kind::allreduce, skeleton);
    std::int64_t whole = 0;
    for (const std::int32_t weight : weights)
      whole += weight;
    for (const std::size_t group : {0, 1})
      for (Rank owner = 0; owner < groups.owners(group); ++owner) {
        std::int64_t share = 0;
        for (const ChunkId part : groups.owned(group, owner))
          share += weights[index(part)];
        CHECK(share == whole / groups.owners(group));
      }
  }
}

TEST_CASE("owners that are near each other have the same share") {
  // Hosts 0, 1, 2 and 3, 4, 5 are two groups; 0 and 5, 1 and 3, 2 and 4 are nearest.
  Network network = named_hosts(6);
  const std::vector<HostId> nearest = {5, 3, 4, 1, 2, 0};
  for (HostId a = 0; a < 6; ++a)
    for (HostId b = 0; b < 6; ++b)
      if (a != b)
        network.latency.set(a, b,
                            Time(a / 3 == b / 3           ? 1e-4
                                 : nearest[index(a)] == b ? 5e-3
                                                          : 9e-3));
  const Problem problem{
      {.kind = Kind::allreduce, .ranks = 6, .size = 1 << 20}, network, one_rank_per_host(6)};
  const Skeleton skeleton = find("group-exchange").build(problem, {.degree = 2, .parts = 1});
  const schedule::Schedule schedule = expand(Kind::allreduce, skeleton, 1 << 20);
  for (const Transfer& t : schedule.transfers())
    if (t.from / 3 != t.to / 3) CHECK(nearest[index(t.from)] == t.to);
}

TEST_CASE("contributions to later segments don't wait for the results of earlier ones") {
  // 1 MB in 16 segments of 0.5 ms each, and 5 ms between the groups.
  Network network = named_hosts(4);
  for (network::Host& host : network.hosts)
    host.egress = host.ingress = Rate(1.31072e8);
  for (HostId a = 0; a < 4; ++a)
    for (HostId b = 0; b < 4; ++b)
      if (a != b) network.latency.set(a, b, Time(a / 2 == b / 2 ? 1e-4 : 5e-3));
  const Problem problem{
      {.kind = Kind::allreduce, .ranks = 4, .size = 1 << 20}, network, one_rank_per_host(4)};
  const Parameters parameters{.segment_size = 1 << 16, .degree = 2};
  for (const char* name : {"group-exchange", "group-tree"}) {
    const Skeleton skeleton = find(name).build(problem, parameters);
    schedule::Step contribution = 0, result = schedule::last_step;
    const schedule::Schedule schedule = expand(Kind::allreduce, skeleton, 1 << 20);
    for (const Transfer& t : schedule.transfers()) {
      if (t.from / 2 != t.to / 2 || t.from == t.to) continue;
      if (t.how == schedule::How::copy)
        result = std::min(result, t.step);
      else
        contribution = std::max(contribution, t.step);
    }
    // Within a crossing 10 segments can be sent.
    CHECK(result - contribution >= 10);
  }
}

/// Four hosts in a chain, 10 ms and 100 MB/s apart, whose ports weren't measured.
Network unmeasured_ports() {
  Network network = named_hosts(4);
  for (HostId a = 0; a < 4; ++a)
    for (HostId b = 0; b < 4; ++b)
      if (a != b) {
        network.latency.set(a, b, Time(1e-2 * std::abs(a - b)));
        network.bandwidth.set(a, b, Rate(1e8));
      }
  return network;
}

TEST_CASE("where ports weren't measured, flows tell how many segments go while data crosses") {
  Network network = unmeasured_ports();
  const Problem problem{
      {.kind = Kind::allreduce, .ranks = 4, .size = 1'000'000'000}, network, one_rank_per_host(4)};
  // Three flows of 1e8 bytes per second, for the 30 ms from one end to the other.
  const double in_flight = std::ceil(3e8 * 0.03 / 65536);
  for (const auto& [name, times] : {std::pair{"group-exchange", 1}, {"group-tree", 3}}) {
    const Parameters parameters{.segment_size = 65536, .degree = 4};
    const Skeleton skeleton = find(name).build(problem, parameters);
    REQUIRE(skeleton.delays.size() == 4);
    CHECK(skeleton.delays.front() >= in_flight);
    CHECK(skeleton.delays.front() <= times * in_flight);
  }
}

TEST_CASE("where nothing limits a group, results follow the contributions at once") {
  Network network = unmeasured_ports();
  network.bandwidth = network::Matrix<Rate>(4, Rate::infinity());
  for (const double scale : {1.0, 0.0}) {
    for (HostId a = 0; a < 4; ++a)
      for (HostId b = 0; b < 4; ++b)
        network.latency.set(a, b, network.latency(a, b) * scale);
    const Problem problem{{.kind = Kind::allreduce, .ranks = 4, .size = 1'000'000'000},
                          network,
                          one_rank_per_host(4)};
    for (const char* name : {"group-exchange", "group-tree"})
      CHECK(find(name).build(problem, {.segment_size = 65536, .degree = 4}).delays.empty());
  }
}

} // namespace
} // namespace thalweg::algorithms
