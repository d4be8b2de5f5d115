#include "mapping/collectives.hpp"
#include "mapping/mapping.hpp"
#include "mapping/planned.hpp"
#include "mapping/scotch.hpp"
#include "mapping/starts.hpp"
#include "problems.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <limits>
#include <numeric>
#include <string_view>

namespace thalweg::mapping {
namespace {

using test::share_of;
using testing::Draw;

constexpr auto every_method = names_of(Method{});

TEST_CASE("so many hosts that no table of their pairs fits into memory are placed on by sites") {
  constexpr HostId hosts = 1 << 17, hosts_of_site = 512;
  Network net = network::even_network(hosts, Time(1e-4), units::Rate(1e8));
  net.sites.assign(hosts / hosts_of_site, {});
  for (HostId host = 0; host < hosts; ++host)
    net.sites[index(host / hosts_of_site)].push_back(host);
  std::vector<Traffic> couples;
  for (Rank rank = 0; rank < 8; ++rank)
    couples.push_back({rank, rank + 8, 10, 1e6});
  const Problem problem{net, {16, couples}, std::vector<std::int32_t>(hosts, 2)};
  MapOptions options;
  options.moves = 200;
  const Placement found = place(problem, options);
  check(problem, found);
  CHECK(cost(problem, found).total() < cost(problem, block(problem)).total());
  const auto costs = planned_costs(problem, std::vector<Placement>{block(problem), found});
  REQUIRE(costs[1]);
  CHECK(costs[1]->total() == cost(problem, found).total());
}

TEST_CASE("costs of pairs of hosts are the same from a table and from the network") {
  Draw draw(2);
  const Network net = testing::uneven_network(7, draw);
  Problem problem{net, {4, {}}, std::vector<std::int32_t>(7, 1)};
  for (const Metric metric : {Metric::both, Metric::latency, Metric::bandwidth}) {
    problem.metric = metric;
    const HostCosts table(problem), network(problem, HostCosts::Pairs::on_demand);
    for (HostId from = 0; from < 7; ++from)
      for (HostId to = 0; to < 7; ++to) {
        CHECK(table(from, to).message == network(from, to).message);
        CHECK(table(from, to).byte == network(from, to).byte);
      }
  }
}

TEST_CASE("calls are estimated the same with tables that several of them share") {
  for (std::uint64_t seed = 0; seed < share_of(12U, 4); ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const Network net = testing::uneven_network(9, draw);
    Problem problem{net, {20, {}}, testing::some_slots(20, 9, draw)};
    problem.calls = testing::some_calls(20, draw);
    const Placement placement = random(problem, seed);
    const auto tables = tables_for(problem);
    double sum = 0;
    for (const Call& call : problem.calls) {
      Problem only = problem;
      only.calls = {call};
      sum += Collectives(only, placement).total();
      CHECK(Collectives(only, placement, tables).total() == Collectives(only, placement).total());
    }
    CHECK(Collectives(problem, placement, tables).total() == doctest::Approx(sum));
  }
}

TEST_CASE("what Scotch adds up fits into 32 bits, however many pairs of ranks there are") {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  CHECK(scotch_distance(2'000'000, 90) == 500);
  CHECK(scotch_distance(2'000'000, 0) == 500);
  // All pairs of 2,100 ranks; of 16,384 ranks; more hosts than a search takes at once.
  for (const auto weights :
       std::to_array<std::int64_t>({2'000'000, 4'407'900, 268'419'072, most, most + 1}))
    for (const std::int64_t hosts : {2, 64, 2000, 4096}) {
      const std::int64_t pairs = hosts * (hosts - 1), distance = scotch_distance(weights, pairs);
      CHECK(distance * weights <= most);
      CHECK(distance * pairs <= most);
      CHECK((distance > 0) == (weights <= most));
    }
}

} // namespace
} // namespace thalweg::mapping
