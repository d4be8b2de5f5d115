#include "algorithms/sites/site_paths.hpp"
#include "networks.hpp"
#include "schedule/verify.hpp"

#include <doctest/doctest.h>
#include <set>

namespace thalweg::algorithms {
namespace {

using namespace testing;
using collective::is_rooted;
using collective::Kind;
using schedule::Transfer;

TEST_CASE("as many senders as asked for, or as fill the trunk, cross between sites") {
  const Network net = two_sites(); // 8 hosts each
  const auto crossing = [&](Kind kind, const char* name, Rank senders) {
    const Skeleton skeleton =
        find(name).build({{.kind = kind, .ranks = 16, .size = 1 << 20}, net, one_rank_per_host(16)},
                         {.senders = senders});
    const schedule::Schedule schedule = expand(kind, skeleton, 1 << 20);
    std::set<Rank> from_west;
    ChunkId chunks = 0;
    for (const Transfer& t : schedule.transfers())
      if (t.from % 2 == 0 && t.to % 2 == 1) {
        from_west.insert(t.from);
        for (const schedule::Range& range : t.what)
          chunks += range.count;
      }
    CHECK(chunks == skeleton.chunks); // once
    return static_cast<Rank>(from_west.size());
  };
  for (const Rank senders : {1, 2, 3, 5, 8}) {
    CHECK(crossing(Kind::bcast, "site-scatter-allgather", senders) == senders);
    CHECK(crossing(Kind::allreduce, "site-rabenseifner", senders) == senders);
  }
  CHECK(crossing(Kind::bcast, "site-scatter-allgather", 0) == 8); // 1 Gbit/s of 100 Mbit/s flows
}

TEST_CASE("the senders that fill a trunk are what it carries over what one flow gets") {
  Network net = network::even_network(6, units::Time(1), units::Rate(100));
  const std::vector<std::vector<Rank>> sites = {{0, 1, 2}, {3, 4, 5}};
  const Problem problem{{.kind = Kind::allreduce, .ranks = 6}, net, one_rank_per_host(6)};
  const auto senders = [&](std::size_t from, std::size_t to) {
    return SitePaths(problem, sites).senders(from, to);
  };
  CHECK(senders(0, 1) == 3); // no trunk: all
  net.trunks = {{"link", {0, 1, 2}, {3, 4, 5}, units::Rate(190)}};
  CHECK(senders(0, 1) == 2);
  CHECK(senders(1, 0) == 3);
  net.trunks[0].capacity = units::Rate(10); // less than one NIC
  CHECK(senders(0, 1) == 1);
  net.trunks.back().senders = 2; // what was measured counts
  CHECK(senders(0, 1) == 2);
}

TEST_CASE("paths that share a trunk share its senders") {
  // One city in the middle: all that leaves site 0 crosses one trunk.
  Network net = network::even_network(12, units::Time(1), units::Rate(100));
  net.trunks = {{"west->middle", {0, 1, 2, 3}, {4, 5, 6, 7, 8, 9, 10, 11}, units::Rate(400)},
                {"middle->east", {0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11}, units::Rate(300)}};
  const std::vector<std::vector<Rank>> sites = {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}};
  const auto senders = [&](Kind kind, std::size_t from, std::size_t to) {
    const Problem problem{{.kind = kind, .ranks = 12}, net, one_rank_per_host(12)};
    return SitePaths(problem, sites).senders(from, to);
  };
  CHECK(senders(Kind::bcast, 0, 1) == 2); // of 4, the other 2 go on to site 2
  CHECK(senders(Kind::bcast, 0, 2) == 2);
  CHECK(senders(Kind::bcast, 1, 2) == 3);     // not used by the bcast, nor shared in it
  CHECK(senders(Kind::allreduce, 0, 2) == 1); // of 3, with those from site 1
  CHECK(senders(Kind::allreduce, 2, 0) == 4); // no trunk
}

TEST_CASE("where the split stops early, only senders have parts that cross") {
  const Network net = two_sites(); // 8 hosts each, dealt out in turn
  const auto ends = [&](Kind kind, const char* name, Rank senders, bool early) {
    const Skeleton skeleton =
        find(name).build({{.kind = kind, .ranks = 16, .size = 1 << 20}, net, one_rank_per_host(16)},
                         {.senders = senders, .split = early ? Split::early : Split::whole});
    const schedule::Schedule schedule = expand(kind, skeleton, 1 << 20);
    schedule::verify({.kind = kind, .ranks = 16, .size = 1 << 20}, schedule);
    std::set<Rank> from, to;
    for (const Transfer& t : schedule.transfers())
      if (t.from % 2 == 0 && t.to % 2 == 1) {
        from.insert(t.from);
        to.insert(t.to);
      }
    return std::pair(from.size(), to.size());
  };
  for (const Rank senders : {1, 2, 3, 5, 8}) {
    CAPTURE(senders);
    const auto n = static_cast<std::size_t>(senders);
    CHECK(ends(Kind::bcast, "site-scatter-allgather", senders, true) == std::pair(n, n));
    CHECK(ends(Kind::allreduce, "site-rabenseifner", senders, true) == std::pair(n, n));
    CHECK(ends(Kind::bcast, "site-scatter-allgather", senders, false).second == 8);
    CHECK(ends(Kind::allreduce, "site-rabenseifner", senders, false).second == 8);
  }
}

TEST_CASE("unequal sites: the larger one's split stops at as many parts as the smaller has ranks") {
  Network net = network::even_network(11, units::Time(1), units::Rate(100));
  net.sites = {{0, 1, 2}, {3, 4, 5, 6, 7, 8, 9, 10}};
  for (const Kind kind : {Kind::bcast, Kind::reduce, Kind::allreduce})
    for (const Rank root : {0, 2, 5, 10}) {
      if (root > 0 && !collective::is_rooted(kind)) continue;
      const Collective collective{.kind = kind, .ranks = 11, .root = root, .size = 50'000};
      const char* name = kind == Kind::bcast ? "site-scatter-allgather" : "site-rabenseifner";
      const Skeleton skeleton =
          find(name).build({collective, net, one_rank_per_host(11)}, {.split = Split::early});
      const schedule::Schedule schedule = expand(kind, skeleton, 50'000);
      schedule::verify(collective, schedule);
      std::set<Rank> small, large;
      for (const Transfer& t : schedule.transfers())
        if ((t.from < 3) != (t.to < 3)) {
          small.insert(std::min(t.from, t.to));
          large.insert(std::max(t.from, t.to));
        }
      CHECK(small.size() == 3);
      CHECK(large.size() == 3);
    }
}

/// Returns the schedule of an algorithm with recursive phases, verified.
schedule::Schedule recursive(const char* name, const Collective& collective, const Network& net,
                             Split split) {
  const Problem problem{collective, net, one_rank_per_host(collective.ranks)};
  const Skeleton skeleton =
      find(name).build(problem, {.split = split, .inside = Inside::recursive});
  schedule::Schedule schedule = expand(collective.kind, skeleton, collective.size);
  schedule::verify(collective, schedule);
  return schedule;
}

TEST_CASE("inside sites of any sizes, data is halved and doubled") {
  for (const Rank large : {1, 2, 3, 4, 5, 7, 8, 13}) {
    Network net = network::even_network(2 + large, units::Time(1), units::Rate(100));
    net.sites = {{0, 1}, {}};
    for (Rank host = 2; host < 2 + large; ++host)
      net.sites[1].push_back(host);
    for (const char* name :
         {"site-scatter-allgather", "far-first", "site-rabenseifner", "two-tier"})
      for (const Kind kind : {Kind::bcast, Kind::reduce, Kind::allreduce})
        for (const Split split : {Split::whole, Split::early}) {
          if (!find(name).supports(kind)) continue;
          CAPTURE(name);
          CAPTURE(large);
          const Collective collective{.kind = kind,
                                      .ranks = 2 + large,
                                      .root = is_rooted(kind) ? large : 0,
                                      .size = 50'000};
          recursive(name, collective, net, split);
        }
  }
}

TEST_CASE("the farther half of a site's ranks comes first") {
  Network net = network::even_network(16, units::Time(1), units::Rate(100));
  const auto partners = [&](const schedule::Schedule& schedule, schedule::Step step) {
    std::set<Rank> distances;
    for (const Transfer& t : schedule.transfers())
      if (t.step == step) distances.insert(std::abs(t.from - t.to));
    return distances;
  };
  const Collective bcast{.kind = Kind::bcast, .ranks = 16, .size = 50'000};
  const schedule::Schedule scattered =
      recursive("site-scatter-allgather", bcast, net, Split::whole);
  for (schedule::Step step = 0; step < 4; ++step)
    CHECK(partners(scattered, step) == std::set<Rank>{8 >> step});
  for (schedule::Step step = 0; step < 4; ++step) // a step between is for crossings and spreading
    CHECK(partners(scattered, 5 + step) == std::set<Rank>{1 << step});

  const Collective allreduce{.kind = Kind::allreduce, .ranks = 16, .size = 50'000};
  for (const Halving halving : {Halving::nearest, Halving::farthest}) {
    const Problem problem{allreduce, net, one_rank_per_host(16)};
    const Skeleton skeleton =
        find("rabenseifner").build(problem, {.order = Order::rank, .halving = halving});
    const schedule::Schedule schedule = expand(Kind::allreduce, skeleton, 50'000);
    schedule::verify(allreduce, schedule);
    CHECK(partners(schedule, 0) == std::set<Rank>{halving == Halving::farthest ? 8 : 1});
    CHECK(partners(schedule, 3) == std::set<Rank>{halving == Halving::farthest ? 1 : 8});
  }
}

TEST_CASE("any number of ranks may begin with the farthest one") {
  for (Rank ranks = 1; ranks <= 40; ++ranks)
    for (const Kind kind : {Kind::allreduce, Kind::reduce}) {
      const Network net = network::even_network(ranks, units::Time(1), units::Rate(100));
      const Collective collective{.kind = kind,
                                  .ranks = ranks,
                                  .root = kind == Kind::reduce ? ranks / 2 : 0,
                                  .size = 50'000};
      const Problem problem{collective, net, one_rank_per_host(ranks)};
      const Skeleton skeleton = find("rabenseifner").build(problem, {.halving = Halving::farthest});
      schedule::verify(collective, expand(kind, skeleton, 50'000));
    }
}

} // namespace
} // namespace thalweg::algorithms
