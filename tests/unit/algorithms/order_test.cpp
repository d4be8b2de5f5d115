#include "algorithms/order.hpp"
#include "networks.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>

namespace thalweg::algorithms {
namespace {

using namespace testing;
using collective::no_rank;

/// Counts how often neighbours in the order differ in `group`.
template <class Group>
int changes(const std::vector<Rank>& order, Group group) {
  int count = 0;
  for (std::size_t at = 1; at < order.size(); ++at)
    count += group(order[at - 1]) != group(order[at]);
  return count;
}

/// The slowest link of a chain with one rank per host, each link's share of ports and trunks
/// counted.
double slowest_link(const Network& network, const Placement& placement,
                    const std::vector<Rank>& order) {
  const auto host = [&](std::size_t at) { return placement[index(order[at])]; };
  const auto has = [](const std::vector<HostId>& hosts, HostId host) {
    return std::ranges::find(hosts, host) != hosts.end();
  };
  double rate = 1e300;
  for (std::size_t at = 1; at < order.size(); ++at)
    rate = std::min({rate, network.bandwidth(host(at - 1), host(at)).value(),
                     network.hosts[index(host(at - 1))].egress.value(),
                     network.hosts[index(host(at))].ingress.value()});
  for (const network::Trunk& trunk : network.trunks) {
    int links = 0;
    for (std::size_t at = 1; at < order.size(); ++at)
      links += has(trunk.from, host(at - 1)) && has(trunk.to, host(at));
    if (links > 0) rate = std::min(rate, trunk.capacity.value() / links);
  }
  return rate;
}

TEST_CASE("an order of closeness is a permutation with hosts and sites kept together") {
  for (std::uint32_t seed = 0; seed < 40; ++seed)
    for (const Shape shape : {Shape::chain, Shape::both_directions, Shape::ring}) {
      CAPTURE(seed);
      const HostId hosts = 1 + static_cast<HostId>(seed % 12);
      const Network network = random_network(hosts, seed);
      const Placement placement = random_placement(1 + static_cast<Rank>(seed), hosts, seed + 1);
      const Rank first = seed % 5 == 0 ? no_rank : static_cast<Rank>(seed) / 2;
      const std::vector<Rank> order = closeness_order(network, placement, first, shape);
      CHECK(order == closeness_order(network, placement, first, shape));
      if (first != no_rank) CHECK(order.front() == first);

      std::vector<Rank> sorted = order, ranks(placement.size());
      std::ranges::sort(sorted);
      std::iota(ranks.begin(), ranks.end(), 0);
      CHECK(sorted == ranks);

      const auto host = [&](Rank rank) { return placement[index(rank)]; };
      std::vector<HostId> used = placement;
      std::ranges::sort(used);
      used.erase(std::unique(used.begin(), used.end()), used.end());
      CHECK(changes(order, host) == static_cast<int>(used.size()) - 1);

      std::vector<int> site_of(network.hosts.size(), -1);
      for (std::size_t site = 0; site < network.sites.size(); ++site)
        for (const HostId member : network.sites[site])
          site_of[index(member)] = static_cast<int>(site);
      std::vector<int> used_sites;
      for (const HostId each : used)
        used_sites.push_back(site_of[index(each)]);
      std::ranges::sort(used_sites);
      used_sites.erase(std::unique(used_sites.begin(), used_sites.end()), used_sites.end());
      const auto site = [&](Rank rank) { return site_of[index(host(rank))]; };
      // A ring may begin in the middle of a site.
      const bool split = shape == Shape::ring && site(order.front()) == site(order.back());
      const int sites = static_cast<int>(used_sites.size());
      CHECK(changes(order, site) == (split && sites > 1 ? sites : sites - 1));
    }
}

TEST_CASE("among equals the order is that of the ranks") {
  const Network network = network::even_network(16, Time(1e-4), Rate(1e8));
  Placement placement(16);
  std::iota(placement.begin(), placement.end(), 0);
  CHECK(closeness_order(network, placement, 0) == placement);
  CHECK(closeness_order(network, placement, 3) ==
        std::vector<Rank>{3, 0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
}

TEST_CASE("two sites, known or not, are each walked through once") {
  Network network = two_sites();
  Placement placement(16);
  std::iota(placement.begin(), placement.end(), 0);
  for (const bool known : {true, false}) {
    if (!known) network.sites.clear();
    for (Rank first = 0; first < 16; ++first)
      CHECK(changes(closeness_order(network, placement, first),
                    [](Rank rank) { return rank % 2; }) == 1);
  }
}

TEST_CASE("the local search finds the fast path that is hidden in a slow network") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Network network = named_hosts(16);
    std::vector<HostId> path(16);
    std::iota(path.begin(), path.end(), 0);
    std::ranges::shuffle(path, random);
    for (HostId a = 0; a < 16; ++a)
      for (HostId b = 0; b < 16; ++b)
        if (a != b) {
          network.latency.set(a, b, Time(1e-4));
          network.bandwidth.set(a, b, Rate(random() % 3 == 0 ? 4e6 : 1e6));
        }
    for (std::size_t at = 1; at < 16; ++at)
      network.bandwidth.set(path[at - 1], path[at], Rate(4e6));
    Placement placement(16);
    std::iota(placement.begin(), placement.end(), 0);
    const std::vector<Rank> order = closeness_order(network, placement, path.front());
    CHECK(slowest_link(network, placement, order) == 4e6);
  }
}

TEST_CASE("a chain is no slower than the order of the ranks") {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    Network network = random_network(10, seed);
    network.sites.clear();
    for (HostId a = 0; a < 10; ++a)
      for (HostId b = 0; b < 10; ++b)
        network.latency.set(a, b, Time(0));
    Placement placement(10);
    std::iota(placement.begin(), placement.end(), 0);
    CHECK(slowest_link(network, placement, closeness_order(network, placement, 0)) >=
          slowest_link(network, placement, placement));
  }
}

TEST_CASE("the central rank is the one nearest to all") {
  Network network = named_hosts(3);
  for (HostId a = 0; a < 3; ++a)
    for (HostId b = 0; b < 3; ++b)
      if (a != b) network.latency.set(a, b, Time(a == 1 || b == 1 ? 1e-3 : 5e-3));
  const Problem problem{{.kind = collective::Kind::allreduce, .ranks = 4}, network, {0, 2, 1, 1}};
  CHECK(central_rank(problem) == 2);
}

} // namespace
} // namespace thalweg::algorithms
