#include "mapping/mapping.hpp"
#include "mapping/refine.hpp"
#include "mapping/scotch.hpp"
#include "mapping/starts.hpp"
#include "problems.hpp"
#include "unit/error_of.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <limits>
#include <set>

namespace thalweg::mapping {
namespace {

using test::error_of;
using test::share_of;
using testing::Draw;

constexpr auto methods = names_of(Method{});

/// Calls visit() for every placement that keeps capacities.
template <class Visit>
void for_each_placement(const Problem& problem, Placement& placement,
                        std::vector<std::int32_t>& left, Visit visit) {
  if (placement.size() == index(problem.ranks())) return visit(placement);
  for (HostId host = 0; host < problem.network.size(); ++host) {
    const HostId pinned = problem.pinned_to(static_cast<Rank>(placement.size()));
    if (left[index(host)] == 0 || (pinned != no_host && pinned != host)) continue;
    --left[index(host)];
    placement.push_back(host);
    for_each_placement(problem, placement, left, visit);
    placement.pop_back();
    ++left[index(host)];
  }
}

double least_cost(const Problem& problem) {
  double least = std::numeric_limits<double>::infinity();
  Placement placement;
  std::vector<std::int32_t> left = problem.slots;
  for_each_placement(problem, placement, left, [&](const Placement& each) {
    least = std::min(least, cost(problem, each).total().value());
  });
  return least;
}

TEST_CASE("tiny problems get a placement of least cost") {
  for (std::uint64_t seed = 0; seed < share_of(12U, 6); ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const int hosts = 2 + draw.below(2);
    const Rank ranks = 4 + draw.below(3);
    const Network net = testing::uneven_network(hosts, draw);
    Problem problem{net,
                    {ranks, testing::random_traffic(ranks, 3 * ranks, draw)},
                    testing::some_slots(ranks, hosts, draw)};
    if (seed % 3 == 1) problem.calls = testing::some_calls(ranks, draw);
    if (seed % 3 == 2) {
      problem.pinned.assign(index(ranks), no_host);
      problem.pinned[2] =
          static_cast<HostId>(std::ranges::max_element(problem.slots) - problem.slots.begin());
    }
    const Placement found = place(problem);
    check(problem, found);
    CHECK(cost(problem, found).total().value() ==
          doctest::Approx(least_cost(problem)).epsilon(1e-9));
  }
}

TEST_CASE("every method keeps capacities and pins, and gives the same again") {
  for (std::uint64_t seed = 0; seed < share_of(12U, 4); ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const int hosts = 2 + draw.below(8);
    const Rank ranks = 1 + draw.below(40);
    const Network net = testing::uneven_network(hosts, draw);
    Problem problem{net,
                    {ranks, testing::random_traffic(ranks, 3 * ranks, draw)},
                    testing::some_slots(ranks, hosts, draw)};
    if (seed % 2 == 1) {
      problem.pinned.assign(index(ranks), no_host);
      problem.pinned[index(draw.below(ranks))] =
          static_cast<HostId>(std::ranges::max_element(problem.slots) - problem.slots.begin());
    }
    const double least =
        cost(problem, place(problem, {Method::thalweg, seed, 500})).total().value();
    for (const std::string_view name : methods) {
      CAPTURE(name);
      const MapOptions options{*units::value_named<Method>(name), seed, 500};
      if (testing::needs_scotch(options.method) && !has_scotch()) continue;
      const Placement found = place(problem, options);
      check(problem, found);
      CHECK(place(problem, options) == found);
      const bool is_half =
          options.method == Method::cloudmap_intra || options.method == Method::cloudmap_inter;
      if (!is_half) CHECK(least <= cost(problem, found).total().value() * (1 + 1e-9));
    }
  }
}

TEST_CASE("Scotch gives the same again on so many hosts that it would use threads") {
  if (!has_scotch()) return;
  Draw draw(7);
  const int hosts = 256;
  const Rank ranks = 4 * hosts;
  const Network net = testing::uneven_network(hosts, draw);
  const Problem problem{net,
                        {ranks, testing::random_traffic(ranks, 4 * ranks, draw)},
                        std::vector<std::int32_t>(hosts, 4)};
  const Placement first = place(problem, {Method::scotch});
  for (int again = 0; again < share_of(4, 2); ++again)
    CHECK(place(problem, {Method::scotch}) == first);
}

TEST_CASE("ranks that send each other most are joined as far as they fit on a host") {
  const Network net = network::even_network(4, Time(1e-4), units::Rate(1e8));
  // Columns of four, the weaker tie of which joins two of them.
  std::vector<Traffic> traffic;
  for (Rank rank = 0; rank < 24; ++rank)
    traffic.push_back({rank, rank + 8, 1, 1e6});
  for (Rank rank = 0; rank < 32; rank += 2)
    traffic.push_back({rank, rank + 1, 1, 1e4});
  const Problem problem{net, {32, traffic}, {8, 8, 8, 8}};
  const Placement found = join(problem, HostCosts(problem), problem.slots);
  check(problem, found);
  CHECK(mapping::traffic(problem, found).inter_host == 0);
  // Groups that don't fill hosts are divided.
  for (std::uint64_t seed = 0; seed < share_of(20U, 5); ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const int hosts = 2 + draw.below(6);
    const Rank ranks = 2 + draw.below(30);
    const Network uneven = testing::uneven_network(hosts, draw);
    const Problem other{uneven,
                        {ranks, testing::random_traffic(ranks, 3 * ranks, draw)},
                        testing::some_slots(ranks, hosts, draw)};
    check(other, join(other, HostCosts(other), other.slots));
  }
}

TEST_CASE("more moves never cost more") {
  Draw draw(5);
  const Network net = testing::uneven_network(6, draw);
  const Problem problem{
      net, {24, testing::random_traffic(24, 100, draw)}, std::vector<std::int32_t>(6, 5)};
  const HostCosts costs(problem);
  double before = std::numeric_limits<double>::infinity();
  for (const std::int64_t moves : {0, 10, 100, 1000, 5000}) {
    const Placement found = refine(problem, costs, block(problem), {1, moves});
    const double now = cost(problem, found).total().value();
    CHECK(now <= before * (1 + 1e-9));
    before = now;
  }
}

TEST_CASE("of more hosts than needed those near each other are used") {
  Network net = network::even_network(8, Time(1e-3), units::Rate(1e8));
  for (const HostId a : {1, 4, 6})
    for (const HostId b : {1, 4, 6})
      if (a != b) net.latency.set(a, b, Time(1e-5));
  std::vector<Traffic> ring;
  for (Rank rank = 0; rank < 6; ++rank)
    ring.push_back({rank, (rank + 1) % 6, 100, 100});
  const Problem problem{net, {6, ring}, std::vector<std::int32_t>(8, 2)};
  const Placement found = place(problem);
  CHECK(std::set<HostId>(found.begin(), found.end()) == std::set<HostId>{1, 4, 6});
}

TEST_CASE("links that hardly carry anything are avoided, and confuse nothing") {
  Network net = network::even_network(4, units::Time(1e-4), units::Rate(1e8));
  for (HostId other = 1; other < net.size(); ++other)
    for (const auto& [from, to] : {std::pair(HostId{0}, other), std::pair(other, HostId{0})})
      net.bandwidth.set(from, to, units::Rate(1e-310));
  // A message without bytes: 0 times an infinite cost would be no number.
  const Problem problem{net, {3, {{0, 1, 1, 0}, {1, 2, 5, 1e9}}}, {2, 2, 2, 2}};
  for (const Method method : {Method::thalweg, Method::inter_only}) {
    const Placement found = place(problem, {.method = method});
    check(problem, found);
    if (method == Method::thalweg) CHECK(std::ranges::count(found, 0) == 0);
    CHECK(std::isfinite(cost(problem, found).total().value()));
  }
}

TEST_CASE("ranks stay where moving costs more than it gains") {
  Draw draw(9);
  const Network net = testing::uneven_network(4, draw);
  Problem problem{net, {8, testing::random_traffic(8, 30, draw)}, {2, 2, 2, 2}};
  problem.previous = block(problem);
  problem.migration = Time(1e9);
  CHECK(place(problem) == problem.previous);
  problem.migration = Time(0);
  CHECK(cost(problem, place(problem)).total() < cost(problem, problem.previous).total());
}

TEST_CASE("block fills hosts, interleave deals ranks out, inter-only keeps blocks together") {
  const Network net = network::even_network(3, Time(1e-4), units::Rate(1e8));
  const Problem problem{net, {5, {{0, 1, 1, 1}}}, {2, 2, 1}};
  CHECK(block(problem) == Placement{0, 0, 1, 1, 2});
  CHECK(interleave(problem) == Placement{0, 1, 2, 0, 1});
  Problem other = problem;
  other.order = {2, 0, 1};
  CHECK(block(other) == Placement{2, 0, 0, 1, 1});
  CHECK(interleave(other) == Placement{2, 0, 1, 0, 1});
  const Placement groups = place(problem, {Method::inter_only, 0, 100});
  CHECK(groups[0] == groups[1]);
  CHECK(groups[2] == groups[3]);
}

TEST_CASE("inter-only sees what collectives cost") {
  Network net = network::even_network(4, Time(1e-4), units::Rate(1e8));
  for (const HostId a : {0, 1})
    for (const HostId b : {2, 3}) {
      net.latency.set(a, b, Time(1e-2));
      net.latency.set(b, a, Time(1e-2));
    }
  Problem problem{net, {8, {}}, {2, 2, 2, 2}};
  // In blocks, each communicator has ranks on both sites.
  problem.calls = {{collective::Kind::alltoall, 1000, 10, 0, {0, 1, 4, 5}},
                   {collective::Kind::alltoall, 1000, 10, 0, {2, 3, 6, 7}}};
  const Placement found = place(problem, {Method::inter_only});
  for (const Rank rank : {0, 2, 4, 6})
    CHECK(found[index(rank)] == found[index(rank + 1)]);
  CHECK(found[0] / 2 == found[4] / 2);
  CHECK(found[2] / 2 == found[6] / 2);
  CHECK(cost(problem, place(problem)).total() <= cost(problem, found).total());
}

TEST_CASE("inter-only fills hosts of different slots in the order of least cost") {
  for (std::uint64_t seed = 0; seed < share_of(24U, 4); ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const Network net = testing::uneven_network(4, draw);
    const Rank ranks = 9 + draw.below(2);
    const HostId pinned = seed / 2 % 2 == 0 ? 0 : 3; // the first host that is filled, or the last
    Problem problem{net, {ranks, testing::random_traffic(ranks, 3 * ranks, draw)}, {2, 1, 4, 3}};
    if (seed % 2 == 1) problem.calls = testing::some_calls(ranks, draw);
    problem.pinned.assign(index(ranks), no_host);
    problem.pinned[0] = pinned;
    std::vector<HostId> others = {0, 1, 2, 3};
    std::erase(others, pinned);
    double least = std::numeric_limits<double>::infinity();
    do {
      std::vector<HostId> order = others;
      order.insert(order.begin() + pinned, pinned);
      const Placement filled = block(problem, order);
      least = std::min(least, cost(problem, filled).total().value());
    } while (std::ranges::next_permutation(others).found);
    const Placement found = place(problem, {Method::inter_only, seed});
    check(problem, found);
    CHECK(cost(problem, found).total().value() == doctest::Approx(least).epsilon(1e-8));
  }
}

TEST_CASE("inter-only keeps blocks together on many hosts of different slots") {
  for (std::uint64_t seed = 0; seed < share_of(6U, 2); ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const HostId hosts = 12;
    const Network net = testing::uneven_network(hosts, draw);
    const Rank ranks = 70;
    Problem problem{net, {ranks, testing::random_traffic(ranks, 3 * ranks, draw)}, {}};
    for (HostId host = 0; host < hosts; ++host)
      problem.slots.push_back(1 + host);
    problem.pinned.assign(index(ranks), no_host);
    problem.pinned[0] = 0;
    const Placement found = place(problem, {Method::inter_only, seed});
    check(problem, found);
    CHECK(cost(problem, found).total() < cost(problem, block(problem)).total());
    std::set<HostId> filled;
    for (std::size_t rank = 0; rank < found.size(); ++rank)
      if (rank == 0 || found[rank] != found[rank - 1]) CHECK(filled.insert(found[rank]).second);
  }
}

TEST_CASE("inter-only looks at hosts without ranks however many there are") {
  const HostId hosts = 150;
  const Network net = network::even_network(hosts, Time(1e-4), units::Rate(1e8));
  Problem problem{net, {3, {{0, 1, 1, 1}, {1, 2, 1, 1}, {2, 0, 1, 1}}}, {}};
  problem.slots.assign(index(hosts), 2);
  problem.slots.back() = 3;
  CHECK(place(problem, {Method::inter_only}) == Placement(3, hosts - 1));
}

TEST_CASE("intra-only knows who talks to whom, and not how far hosts are from each other") {
  const Network net = network::even_network(4, Time(1e-4), units::Rate(1e8));
  std::vector<Traffic> couples;
  for (Rank rank = 0; rank < 4; ++rank)
    couples.push_back({rank, rank + 4, 10, 1e6});
  const Problem problem{net, {8, couples}, {2, 2, 2, 2}};
  const Placement found = place(problem, {Method::intra_only, 1, 1000});
  CHECK(traffic(problem, found).inter_host == 0);
  CHECK(traffic(problem, found).intra_host == 4e6);
}

TEST_CASE("CloudMap's halves each leave to chance what the other optimises") {
  if (!has_scotch()) return;
  for (std::uint64_t seed = 0; seed < share_of(12U, 4); ++seed) {
    CAPTURE(seed);
    // Couples of ranks on four hosts, of which 0 and 1 as well as 2 and 3 are close to each other;
    // each couple also talks to one other.
    Network net = network::even_network(4, Time(1e-4), units::Rate(1e8));
    for (const HostId a : {0, 1})
      for (const HostId b : {2, 3})
        for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
          net.bandwidth.set(from, to, units::Rate(1e6));
    std::vector<Traffic> pairs;
    for (Rank rank = 0; rank < 4; ++rank)
      pairs.push_back({rank, rank + 4, 1, 1e7});
    pairs.push_back({0, 1, 1, 1e5});
    pairs.push_back({2, 3, 1, 1e5});
    const Problem problem{net, {8, pairs}, {2, 2, 2, 2}};

    const Placement grouped = place(problem, {Method::cloudmap_intra, seed});
    check(problem, grouped);
    CHECK(traffic(problem, grouped).inter_host == 2e5);

    const Placement drawn = random(problem, seed);
    const Placement placed = place(problem, {Method::cloudmap_inter, seed});
    check(problem, placed);
    for (Rank a = 0; a < 8; ++a)
      for (Rank b = 0; b < a; ++b)
        CHECK((placed[index(a)] == placed[index(b)]) == (drawn[index(a)] == drawn[index(b)]));
    // Scotch, too, finds the best of the three ways to divide four groups into two pairs.
    double least = std::numeric_limits<double>::infinity();
    Placement hosts = {0, 1, 2, 3};
    do {
      Placement other;
      for (const HostId host : drawn)
        other.push_back(hosts[index(host)]);
      least = std::min(least, cost(problem, other).pairs.value());
    } while (std::ranges::next_permutation(hosts).found);
    CHECK(cost(problem, placed).pairs.value() <= 2 * least);
  }
}

TEST_CASE("the traffic of a placement is CloudMap's equations, directed") {
  Network net = network::even_network(3, Time(1e-4), units::Rate(1e8));
  net.bandwidth.set(1, 0, units::Rate(5e7));
  net.sites = {{0, 1}, {2}};
  const Problem problem{
      net, {4, {{0, 1, 1, 100}, {0, 2, 1, 1e6}, {2, 0, 1, 1e6}, {3, 1, 1, 5000}}}, {2, 1, 1}};
  const TrafficSums sums = traffic(problem, {0, 0, 1, 2});
  CHECK(sums.intra_host == 100);
  CHECK(sums.inter_host == 2e6 + 5000);
  CHECK(sums.inter_site == 5000);
  CHECK(sums.comm_time.value() == doctest::Approx(1e6 / 1e8 + 1e6 / 5e7 + 5000 / 1e8));
  CHECK(sums.hosts == 3);
}

TEST_CASE("what doesn't fit is refused, by name") {
  const Network net = network::even_network(2, Time(1e-4), units::Rate(1e8));
  const auto error = [&](const auto& change) {
    Problem problem{net, {3, {{0, 1, 1, 1}}}, {2, 2}};
    change(problem);
    return error_of([&] { validate(problem); });
  };
  CHECK(error([](Problem&) {}) == "none");
  CHECK(error([](Problem& p) {
          p.slots = {1, 1};
        }) == "the hosts have 2 slots for 3 ranks: name more hosts, or more slots");
  CHECK(error([](Problem& p) { p.slots = {1, -1}; }).starts_with("host host1 can't have -1"));
  CHECK(error([](Problem& p) { p.slots = {4}; }).starts_with("slots of 1 hosts"));
  CHECK(error([](Problem& p) { p.pinned = {0, 0, 0}; }).starts_with("host host0 has 2 slots"));
  CHECK(error([](Problem& p) { p.pinned = {0}; }).starts_with("a list of pinned ranks of 1"));
  CHECK(error([](Problem& p) { p.previous = {0, 0, 7}; }).starts_with("rank 2 is placed on"));
  CHECK(error([](Problem& p) { p.order = {0, 0}; }).find("twice") != std::string::npos);
  CHECK(error([](Problem& p) { p.order = {0}; }).find("isn't in the order") != std::string::npos);
  CHECK(error([](Problem& p) { p.order = {-1}; }).starts_with("the order of hosts has number"));
  CHECK(error([](Problem& p) { p.migration = Time(std::nan("")); }).starts_with("moving a rank"));
  CHECK(error([](Problem& p) {
          p.calls = {{collective::Kind::bcast, 1, 1, 0, {0, 9}}};
        }).starts_with("a call of rank 9"));
}

TEST_CASE("a peer of several phases is one peer, with the sums of what is exchanged in each") {
  const Communication matrix(
      3,
      {{1, 0, 1, 10, 2}, {0, 1, 2, 20, 0}, {0, 1, 3, 30, 2}, {0, 2, 4, 40, 1}, {1, 0, 5, 50, 2}});
  CHECK(matrix.phases() == 3);
  const auto peers = matrix.peers(0);
  REQUIRE(peers.size() == 2);
  CHECK(peers[0].rank == 1);
  CHECK(peers[0].sent_messages == 5);
  CHECK(peers[0].received_bytes == 60);
  const auto by_phase = matrix.by_phase(peers[0]);
  REQUIRE(by_phase.size() == 2);
  CHECK(by_phase[0].phase == 0);
  CHECK(by_phase[0].sent_bytes == 20);
  CHECK(by_phase[0].received_bytes == 0);
  CHECK(by_phase[1].phase == 2);
  CHECK(by_phase[1].sent_messages == 3);
  CHECK(by_phase[1].received_messages == 6);
  CHECK(matrix.exchanges(0) == 3);
  CHECK(matrix.exchanges(2) == 1);
  CHECK(Communication(2, {}).exchanges(1) == 0);
  const auto entries = matrix.entries();
  REQUIRE(entries.size() == 4);
  CHECK(entries.back().from == 1);
  CHECK(entries.back().bytes == 60);
}

TEST_CASE("a matrix adds up equal pairs, forgets a rank's own, and refuses what isn't a number") {
  const Communication matrix(3, {{0, 1, 1, 10}, {1, 1, 5, 5}, {0, 1, 2, 20}, {2, 0, 1, 1}});
  const auto entries = matrix.entries();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].messages == 3);
  CHECK(entries[0].bytes == 30);
  CHECK(matrix.peers(0).size() == 2);
  CHECK(matrix.peers(1).size() == 1);
  CHECK(matrix.bytes() == 31);
  const auto error = [](const Traffic& each) {
    return error_of([&] { Communication(2, {each}); });
  };
  CHECK(error({0, 2, 1, 1}).find("there are 2 ranks") != std::string::npos);
  CHECK(error({0, 1, -1, 1}).find("at least 0") != std::string::npos);
  CHECK(error({0, 1, 1, std::nan("")}).find("at least 0") != std::string::npos);
  CHECK(error_of([] { Communication(0, {}); }) != "none");
}

} // namespace
} // namespace thalweg::mapping
