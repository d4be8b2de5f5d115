#include "algorithms/packing/host_trees.hpp"
#include "networks.hpp"

#include <doctest/doctest.h>

/// Packed trees over so many hosts or sites that steps for all pairs of them, in each of many
/// passes, take minutes.
namespace thalweg::algorithms {
namespace {

using namespace testing;
using collective::Kind;
using Site = SiteGraph::Site;

TEST_CASE("where ports weren't measured, each tree carries what a single flow does") {
  for (const HostId hosts : {64, 1024}) {
    CAPTURE(hosts);
    Network network = network::even_network(hosts, Time(1e-5), Rate(1e9));
    for (network::Host& host : network.hosts)
      host.egress = host.ingress = Rate::infinity();
    const Problem problem{{.kind = Kind::bcast, .ranks = hosts}, network, one_rank_per_host(hosts)};
    const SiteGraph graph(problem, DataFlow::spread);
    CHECK(graph.fastest == 1e9);
    const HostTrees laid = lay_host_trees(
        graph, pack_site_trees(graph, {Crossing::down, 0, graph.egress.front()}), 8, 0);
    CHECK(laid.trees.size() == 32);
    CHECK(laid.rate == doctest::Approx(32e9));
    for (const HostTree& tree : laid.trees)
      CHECK(tree.order.size() == index(hosts));
  }
}

TEST_CASE("trees for the blocks of 200 sites leave no trunk too full") {
  constexpr Site sites = 200;
  std::mt19937 random(5);
  const auto draw = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random()) / 4294967296.0;
  };
  Network network = named_hosts(sites);
  for (Site site = 0; site < sites; ++site) {
    network::Trunk out{"from" + std::to_string(site), {site}, {}, Rate(draw(1e7, 1e8))};
    for (Site other = 0; other < sites; ++other) {
      if (other == site) continue;
      out.to.push_back(other);
      network.latency.set(site, other, Time(draw(1e-3, 1e-1)));
    }
    network.trunks.push_back(out);
    network.trunks.push_back({"to" + std::to_string(site), out.to, out.from, Rate(draw(1e7, 1e8))});
  }
  const Problem problem{
      {.kind = Kind::allgather, .ranks = sites}, network, one_rank_per_host(sites)};
  const SiteGraph graph(problem, DataFlow::spread);
  REQUIRE(graph.sites.size() == index(sites));
  REQUIRE(graph.trunks.size() == 2 * index(sites));
  const std::vector<SiteTree> trees =
      pack_site_trees(graph, {Crossing::blocks, SiteGraph::no_site, 1e8});
  REQUIRE(!trees.empty());
  std::vector<double> load(graph.trunks.size(), 0);
  for (const SiteTree& tree : trees) {
    const auto cross = [&](Site from, Site to, double share) {
      load[2 * index(from)] += tree.rate * share;
      load[2 * index(to) + 1] += tree.rate * share;
    };
    const std::vector<Site> order = tree.top_down();
    REQUIRE(order.size() == index(sites));
    std::vector<double> below(index(sites), 1.0 / sites);
    for (std::size_t at = order.size(); at-- > 1;) {
      const Site site = order[at], parent = tree.parents[index(site)];
      below[index(parent)] += below[index(site)];
      cross(parent, site, 1 - below[index(site)]);
      cross(site, parent, below[index(site)]);
    }
  }
  for (std::size_t trunk = 0; trunk < load.size(); ++trunk)
    CHECK(load[trunk] <= graph.trunks[trunk].capacity * (1 + 1e-5));
}

} // namespace
} // namespace thalweg::algorithms
