#include "mapping/starts.hpp"
#include "problems.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <limits>

namespace thalweg::mapping {
namespace {

using test::share_of;
using testing::Draw;

/// Latencies and rates of which sums are exact, so that ranks often lose just as much.
Network exact_network(int hosts, Draw& draw) {
  Network net = network::even_network(hosts, Time(0x1p-20), units::Rate(0x1p27));
  for (HostId a = 0; a < hosts; ++a)
    for (HostId b = 0; b < hosts; ++b)
      if (a != b) net.latency.set(a, b, Time(0x1p-20 * (1 + draw.below(4))));
  return net;
}

/// What a rank loses by going to a host.
double loss(const Problem& problem, const HostCosts& costs, const Placement& placement, Rank rank,
            HostId to) {
  double sum = 0;
  for (const Communication::Peer& peer : problem.communication.peers(rank)) {
    const HostId there = placement[index(peer.rank)];
    sum += costs.between(peer, to, there) - costs.between(peer, placement[index(rank)], there);
  }
  return sum;
}

/// Repairs by looking at each rank of a full host and each host with room, each time anew.
Placement repaired_step_by_step(const Problem& problem, const HostCosts& costs,
                                Placement placement) {
  const auto room = [&](HostId host) {
    return problem.slots[index(host)] -
           static_cast<std::int32_t>(std::ranges::count(placement, host));
  };
  for (Rank rank = 0; rank < problem.ranks(); ++rank)
    if (problem.pinned_to(rank) != no_host) placement[index(rank)] = problem.pinned_to(rank);
  for (HostId full = 0; full < problem.network.size(); ++full)
    while (room(full) < 0) {
      double least = std::numeric_limits<double>::infinity();
      Rank leaves = collective::no_rank;
      HostId target = no_host;
      for (Rank rank = 0; rank < problem.ranks(); ++rank)
        for (HostId to = 0; to < problem.network.size(); ++to) {
          if (placement[index(rank)] != full || problem.pinned_to(rank) != no_host || room(to) <= 0)
            continue;
          const double extra = loss(problem, costs, placement, rank, to);
          if (extra >= least) continue;
          least = extra;
          leaves = rank;
          target = to;
        }
      placement[index(leaves)] = target;
    }
  return placement;
}

TEST_CASE("of hosts with too many ranks those leave that lose least, one after the other") {
  for (std::uint64_t seed = 0; seed < share_of(60U, 12); ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const int hosts = 2 + draw.below(7);
    const Rank ranks = 2 + draw.below(30);
    const Network net = exact_network(hosts, draw);
    Problem problem{net,
                    {ranks, testing::random_traffic(ranks, 3 * ranks, draw)},
                    testing::some_slots(ranks, hosts, draw)};
    if (seed % 2 == 1) {
      problem.pinned.assign(index(ranks), no_host);
      problem.pinned[index(draw.below(ranks))] =
          static_cast<HostId>(std::ranges::max_element(problem.slots) - problem.slots.begin());
    }
    Placement start(index(ranks), draw.below(hosts)); // all on one host, or anywhere
    if (seed % 3 != 0)
      for (HostId& host : start)
        host = draw.below(hosts);
    const HostCosts costs(problem);
    const Placement found = repair(problem, costs, problem.slots, start);
    check(problem, found);
    CHECK(found == repaired_step_by_step(problem, costs, start));
  }
}

TEST_CASE("thousands of ranks on one host are spread") {
  const int hosts = 64;
  const Rank ranks = 64 * hosts;
  const Network net = network::even_network(hosts, Time(1e-4), units::Rate(1e8));
  std::vector<Traffic> ring;
  for (Rank rank = 0; rank < ranks; ++rank)
    ring.push_back({rank, (rank + 1) % ranks, 1, 1000});
  const Problem problem{net, {ranks, ring}, std::vector<std::int32_t>(hosts, 64)};
  check(problem, repair(problem, HostCosts(problem), problem.slots, Placement(index(ranks), 0)));
}

} // namespace
} // namespace thalweg::mapping
