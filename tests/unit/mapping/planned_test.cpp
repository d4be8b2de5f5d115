#include "mapping/mapping.hpp"
#include "mapping/planned.hpp"
#include "mapping/scotch.hpp"
#include "mapping/starts.hpp"
#include "planner/planner.hpp"
#include "problems.hpp"
#include "unit/share.hpp"

#include <doctest/doctest.h>
#include <limits>
#include <string>

namespace thalweg::mapping {
namespace {

using test::share_of;
using testing::Draw;

/// The cost of a placement with all of its collectives planned, one by one.
double planned_cost(const Problem& problem, const Placement& placement) {
  const Cost estimated = cost(problem, placement);
  double sum = (estimated.total() - estimated.collectives).value();
  for (const Call& call : problem.calls) {
    Placement where;
    for (const Rank member : call.members)
      where.push_back(placement[index(member)]);
    if (call.members.empty()) where = placement;
    if (std::ranges::all_of(where, [&](HostId host) { return host == where.front(); })) continue;
    const auto ranks = static_cast<Rank>(where.size());
    planner::PlanOptions options;
    options.disabled = {"native", "bound", "verify"};
    options.finalists = 2;
    sum += call.count * ranks / problem.ranks() *
           planner::plan({{.kind = call.kind, .ranks = ranks, .root = call.root, .size = call.size},
                          problem.network,
                          where},
                         options)
               .predicted.value();
  }
  return sum;
}

TEST_CASE("collectives cost what plans for them take, as far as it takes to find the best") {
  for (std::uint64_t seed = 0; seed < share_of(8U, 3); ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const int hosts = 3 + draw.below(4);
    const Rank ranks = 6 + draw.below(8);
    const Network net = testing::uneven_network(hosts, draw);
    Problem problem{net,
                    {ranks, testing::random_traffic(ranks, ranks, draw)},
                    testing::some_slots(ranks, hosts, draw)};
    problem.calls = testing::some_calls(ranks, draw);
    std::vector<Placement> placements;
    for (std::uint64_t at = 0; at < 4; ++at)
      placements.push_back(place(problem, {Method::random, at}));
    const auto [costs, calls] = planned_costs(problem, placements);
    CHECK(calls > 0);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t at = 0; at < placements.size(); ++at) {
      // Calls that the estimate finds to take a tenth of all aren't planned.
      const double expected = planned_cost(problem, placements[at]);
      if (!costs[at]) CHECK(expected >= 0.8 * least);
      if (!costs[at]) continue;
      const double total = costs[at]->total().value();
      CHECK(total == doctest::Approx(expected).epsilon(0.1));
      CHECK(total <= least);
      least = std::min(least, total);
    }
  }
}

TEST_CASE("a placement that doesn't save anything is no better than the one before it") {
  const Network net = network::even_network(4, Time(1e-4), units::Rate(1e8));
  Problem problem{net, {8, {}}, std::vector<std::int32_t>(4, 2)};
  problem.calls = {{collective::Kind::allreduce, 8, 1, 0, {}}};
  const Placement usual = block(problem), other = interleave(problem);
  const auto [costs, calls] = planned_costs(problem, std::vector<Placement>{usual, usual, other});
  CHECK(calls == 1);
  CHECK(costs[0]);
  CHECK_FALSE(costs[1]);
  CHECK_FALSE(costs[2]);
}

TEST_CASE("without plans a library's collectives cost what they take between ranks by number") {
  const double latency = 1e-3;
  const Network net = network::even_network(4, Time(latency), units::Rate(1e9));
  Problem problem{net, {8, {}}, std::vector<std::int32_t>(4, 2)};
  problem.calls = {{collective::Kind::allreduce, 8, 10, 0, {}}};
  // Recursive doubling: partners at distances 1, 2 and 4, of which one is on the same host or none.
  const Placement near = block(problem), far = {0, 1, 2, 3, 3, 2, 1, 0};
  const auto seconds = [&](const Placement& placement, const std::string& library) {
    const auto [costs, calls] = planned_costs(problem, std::vector<Placement>{placement}, library);
    CHECK(calls == 1);
    return costs.at(0)->collectives.value();
  };
  CHECK(seconds(near, "openmpi-4.1") == doctest::Approx(10 * 2 * latency).epsilon(0.01));
  CHECK(seconds(far, "openmpi-4.1") == doctest::Approx(10 * 3 * latency).epsilon(0.01));
  CHECK(seconds(far, "") == doctest::Approx(seconds(near, ""))); // plans go by hosts
}

TEST_CASE("calls of very many ranks aren't planned") {
  const Network net = network::even_network(8, Time(1e-4), units::Rate(1e8));
  Problem problem{net, {256, {}}, std::vector<std::int32_t>(8, 32)};
  problem.calls = {{collective::Kind::allreduce, 8, 1, 0, {}}};
  const Placement usual = block(problem);
  const auto [costs, calls] = planned_costs(problem, std::vector<Placement>{usual});
  CHECK(calls == 0);
  REQUIRE(costs[0]);
  CHECK(costs[0]->total() == cost(problem, usual).total());
}

TEST_CASE("what other methods find is among the finalists where plans decide") {
  for (std::uint64_t seed = 0; seed < share_of(6U, 2); ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const Network net = testing::uneven_network(6, draw);
    Problem problem{net, {24, testing::random_traffic(24, 100, draw)}, {4, 4, 4, 4, 4, 4}};
    MapOptions options;
    options.moves = 200;
    CHECK(finalists(problem, options, 3).size() <= 3);
    problem.calls = testing::some_calls(24, draw);
    CHECK(finalists(problem, options, 1).size() == 1);
    const std::vector<Placement> found = finalists(problem, options, 3);
    for (const Method method : {Method::block, Method::interleave, Method::random,
                                Method::intra_only, Method::inter_only, Method::scotch}) {
      CAPTURE(static_cast<int>(method));
      if (method == Method::scotch && !has_scotch()) continue;
      options.method = method;
      CHECK(std::ranges::find(found, place(problem, options)) != found.end());
      options.method = Method::thalweg;
    }
  }
}

TEST_CASE("finalists are different, the best first") {
  Draw draw(4);
  const Network net = testing::uneven_network(6, draw);
  Problem problem{net, {24, testing::random_traffic(24, 100, draw)}, {4, 4, 4, 4, 4, 4}};
  problem.calls = testing::some_calls(24, draw);
  MapOptions options;
  options.moves = 200;
  const std::vector<Placement> found = finalists(problem, options, 3);
  REQUIRE(found.size() > 1);
  CHECK(found.front() == place(problem, options));
  for (std::size_t at = 1; at < found.size(); ++at) {
    CHECK(std::count(found.begin(), found.end(), found[at]) == 1);
    if (at < 3) CHECK(cost(problem, found[at]).total() >= cost(problem, found[at - 1]).total());
    check(problem, found[at]);
  }
  options.method = Method::block;
  CHECK(finalists(problem, options, 3) == std::vector<Placement>{block(problem)});
}

TEST_CASE("on many hosts ranks are placed on sites first") {
  Draw draw(3);
  Network net = network::even_network(12, Time(1e-5), units::Rate(1e9));
  net.sites = {{0, 3, 6, 9}, {1, 4, 7, 10}, {2, 5, 8, 11}};
  for (HostId a = 0; a < 12; ++a)
    for (HostId b = 0; b < 12; ++b)
      if (a % 3 != b % 3) {
        net.latency.set(a, b, Time(1e-3));
        net.bandwidth.set(a, b, units::Rate(1e8));
      }
  net.trunks.push_back({"out", net.sites[0], net.sites[1], units::Rate(5e7)});
  // Three crowds, each of a site's size; within a crowd, couples.
  std::vector<Traffic> traffic;
  for (Rank rank = 0; rank < 24; ++rank) {
    traffic.push_back({rank, (rank + 3) % 24, 10, 1e4});
    traffic.push_back({rank, (rank + 12) % 24, 100, 1e6});
  }
  Problem problem{net, {24, traffic}, std::vector<std::int32_t>(12, 2)};
  MapOptions options;
  options.hosts_at_once = 11;
  const Placement found = place(problem, options);
  check(problem, found);
  CHECK(place(problem, options) == found);
  for (Rank rank = 0; rank < 24; ++rank) {
    CAPTURE(rank);
    CHECK(found[index(rank)] % 3 == found[index((rank + 3) % 24)] % 3); // at one site
    CHECK(found[index(rank)] == found[index((rank + 12) % 24)]);        // on one host
  }
  // Pins, slots and an earlier placement hold on both levels.
  for (std::uint64_t seed = 0; seed < share_of(6U, 2); ++seed) {
    CAPTURE(seed);
    Problem other{
        net, {15, testing::random_traffic(15, 40, draw)}, testing::some_slots(15, 12, draw)};
    other.pinned.assign(15, no_host);
    other.pinned[4] =
        static_cast<HostId>(std::ranges::max_element(other.slots) - other.slots.begin());
    other.calls = testing::some_calls(15, draw);
    options.seed = seed;
    const Placement placed = place(other, options);
    check(other, placed);
    for (const Method method :
         {Method::block, Method::interleave, Method::intra_only, Method::inter_only}) {
      const Placement rival = place(other, {method, seed});
      CHECK(cost(other, placed).total() <= cost(other, rival).total() * (1 + 1e-9));
    }
    other.previous = placed;
    other.migration = Time(1e6);
    CHECK(place(other, options) == placed);
    // What a search of all hosts has found stays, unless something costs less.
    other.previous.clear();
    other.previous = place(other);
    other.migration = Time(1e-9);
    MapOptions few;
    few.hosts_at_once = 5;
    CHECK(cost(other, place(other, few)).total() <= cost(other, other.previous).total());
  }
}

TEST_CASE("collectives inside a site decide which ranks share its hosts") {
  Network net = network::even_network(8, Time(1e-5), units::Rate(1e9));
  net.sites = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  for (HostId a = 0; a < 8; ++a)
    for (HostId b = 0; b < 8; ++b)
      if (a / 4 != b / 4) net.latency.set(a, b, Time(1e-3));
  Problem problem{net, {16, {}}, std::vector<std::int32_t>(8, 2)};
  for (Rank rank = 0; rank < 8; ++rank) // couples, which no simple order keeps together
    problem.calls.push_back({collective::Kind::allreduce, 1'000'000, 1000, 0, {rank, 15 - rank}});
  MapOptions options;
  options.hosts_at_once = 4;
  const Placement found = place(problem, options);
  check(problem, found);
  for (Rank rank = 0; rank < 8; ++rank) {
    CAPTURE(rank);
    CHECK(found[index(rank)] == found[index(15 - rank)]);
  }
}

TEST_CASE("a rank that all others talk to doesn't make joining take a round for each") {
  std::vector<Traffic> traffic;
  const Rank ranks = 3000;
  for (Rank rank = 1; rank < ranks; ++rank) {
    traffic.push_back({0, rank, 1, 100});
    traffic.push_back({rank, 0, 1, 100});
  }
  const Network net = network::even_network(2, Time(1e-5), units::Rate(1e9));
  const Problem problem{net, {ranks, std::move(traffic)}, {ranks, ranks}};
  check(problem, join(problem, HostCosts(problem), {ranks / 2, ranks / 2}));
}

} // namespace
} // namespace thalweg::mapping
