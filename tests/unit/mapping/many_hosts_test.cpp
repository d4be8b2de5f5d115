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

/// A small network's hosts among many others.
struct Among {
  Network network;
  std::vector<HostId> number; ///< by host of the small network

  [[nodiscard]] std::vector<HostId> renumbered(std::vector<HostId> hosts) const {
    for (HostId& host : hosts)
      if (host != no_host) host = number[index(host)];
    return hosts;
  }
};

/// Puts each host at a place of its own, others into its sites, behind its trunks, and into a site
/// and behind a trunk that only they use.
Among among(const Network& small, int all, Draw& draw) {
  Among big{testing::uneven_network(all, draw), {}};
  Network& net = big.network;
  const int spread = all / small.size();
  std::vector<std::vector<HostId>> sites(small.sites.size() + 1);
  for (HostId host = 0; host < small.size(); ++host)
    big.number.push_back(host * spread + draw.below(spread));
  for (HostId host = 0; host < all; ++host) {
    const auto used = std::ranges::find(big.number, host) - big.number.begin();
    std::size_t site = index(draw.below(static_cast<int>(sites.size())));
    for (std::size_t each = 0; each < small.sites.size(); ++each)
      if (std::ranges::count(small.sites[each], used) > 0) site = each;
    sites[site].push_back(host);
  }
  net.sites = sites;
  net.trunks = {{"unused", sites.back(), sites.front(), units::Rate(1e3)}};
  if (!small.trunks.empty())
    net.trunks.push_back({"out", sites[0], sites[1], small.trunks.front().capacity});
  net.message_costs = small.message_costs;
  for (HostId a = 0; a < small.size(); ++a) {
    net.hosts[index(big.number[index(a)])] = small.hosts[index(a)];
    for (HostId b = 0; b < small.size(); ++b) {
      net.latency.set(big.number[index(a)], big.number[index(b)], small.latency(a, b));
      net.bandwidth.set(big.number[index(a)], big.number[index(b)], small.bandwidth(a, b));
    }
  }
  return big;
}

/// The same problem among the other hosts, which have no slots.
Problem among(const Problem& small, const Among& big) {
  Problem problem{big.network, small.communication,
                  std::vector<std::int32_t>(index(big.network.size()))};
  for (HostId host = 0; host < small.network.size(); ++host)
    problem.slots[index(big.number[index(host)])] = small.slots[index(host)];
  problem.calls = small.calls;
  problem.pinned = big.renumbered(small.pinned);
  problem.previous = big.renumbered(small.previous);
  problem.order = big.renumbered(small.order);
  problem.migration = small.migration;
  return problem;
}

TEST_CASE("hosts without slots change neither placements nor costs") {
  for (std::uint64_t seed = 0; seed < share_of(8U, 4); ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    Network net = testing::uneven_network(8, draw);
    net.message_costs["some library"].send = Time(1e-5);
    const Among big = among(net, 200, draw);
    Problem problem{net, {30, testing::random_traffic(30, 90, draw)}, {4, 4, 5, 4, 4, 5, 4, 4}};
    if (seed % 2 == 1) problem.calls = testing::some_calls(30, draw);
    if (seed % 3 == 1) {
      problem.pinned.assign(30, no_host);
      problem.pinned[5] = 3;
      problem.order = {7, 6, 5, 4, 3, 2, 1, 0};
    }
    if (seed % 3 == 2) {
      problem.previous = random(problem, seed);
      problem.migration = Time(1e-3);
    }
    const Problem other = among(problem, big);
    for (const std::string_view name : every_method) {
      CAPTURE(name);
      MapOptions options{*units::value_named<Method>(name), seed, 1000};
      if (testing::needs_scotch(options.method) && !has_scotch()) continue;
      const std::vector<Placement> found = finalists(problem, options, 3);
      const std::vector<Placement> same = finalists(other, options, 3);
      REQUIRE(same.size() == found.size());
      for (std::size_t at = 0; at < found.size(); ++at) {
        CHECK(same[at] == big.renumbered(found[at]));
        const Cost few = cost(problem, found[at]), many = cost(other, same[at]);
        CHECK(many.pairs == few.pairs);
        CHECK(many.load == few.load);
        CHECK(many.collectives == few.collectives);
        CHECK(many.migration == few.migration);
      }
    }
  }
}

TEST_CASE("hosts on which ranks ran before may have no slots any more") {
  Draw draw(6);
  const Network net = testing::uneven_network(12, draw);
  Problem problem{net, {6, testing::random_traffic(6, 20, draw)}, std::vector<std::int32_t>(12)};
  problem.slots[5] = problem.slots[9] = 3;
  problem.previous = {2, 2, 5, 5, 9, 9};
  problem.migration = Time(1e9);
  const Placement found = place(problem);
  check(problem, found);
  CHECK(Placement(found.begin() + 2, found.end()) == Placement{5, 5, 9, 9});
}

TEST_CASE("hosts are chosen among those with slots, however few of the network's these are") {
  const Network net = network::even_network(128, Time(1e-4), units::Rate(1e8));
  Problem problem{net, {6, {{0, 1, 1, 1}, {4, 5, 1, 1}}}, std::vector<std::int32_t>(128)};
  problem.slots[1] = problem.slots[3] = 4;
  const auto choices = choices_of_hosts(problem, HostCosts(problem), 3);
  REQUIRE(!choices.empty());
  for (const std::vector<std::int32_t>& slots : choices) {
    CHECK(slots[1] + slots[3] == 6);
    CHECK(std::accumulate(slots.begin(), slots.end(), 0) == 6);
  }
  for (const std::string_view name : every_method) {
    CAPTURE(name);
    const MapOptions options{*units::value_named<Method>(name)};
    if (testing::needs_scotch(options.method) && !has_scotch()) continue;
    check(problem, place(problem, options));
  }
}

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
  const auto costs = planned_costs(problem, std::vector<Placement>{block(problem), found}).costs;
  REQUIRE(costs[1]);
  CHECK(costs[1]->total() == cost(problem, found).total());
}

TEST_CASE("large sites, and networks without any, are divided into parts") {
  constexpr HostId hosts = 40;
  Network net = network::even_network(hosts, Time(1e-4), units::Rate(1e8));
  std::vector<Traffic> couples;
  for (Rank rank = 0; rank < 20; ++rank)
    couples.push_back({rank, rank + 20, 10, 1e6});
  MapOptions options;
  options.hosts_at_once = 15;
  for (const std::size_t sites : {0, 1, 2}) {
    CAPTURE(sites);
    net.sites.assign(sites, {});
    for (HostId host = 0; sites > 0 && host < hosts; ++host)
      net.sites[host < 5 ? 0 : sites - 1].push_back(host);
    const Problem problem{net, {40, couples}, std::vector<std::int32_t>(hosts, 2)};
    const Placement found = place(problem, options);
    check(problem, found);
    CHECK(cost(problem, found).total() < 0.2 * cost(problem, block(problem)).total());
  }
}

TEST_CASE("interleaving deals out ranks in turn, however many slots hosts have") {
  const Network net = network::even_network(4, Time(1e-4), units::Rate(1e8));
  const Problem problem{net, {7, std::vector<Traffic>{}}, {1, 1 << 30, 2, 1 << 30}};
  CHECK(interleave(problem) == Placement{0, 1, 2, 3, 1, 2, 3});
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
