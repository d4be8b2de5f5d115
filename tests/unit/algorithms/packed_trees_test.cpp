#include "algorithms/packing/host_trees.hpp"
#include "networks.hpp"
#include "schedule/verify.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <limits>
#include <utility>

namespace thalweg::algorithms {
namespace {

using namespace testing;
using collective::Kind;
using Site = SiteGraph::Site;

double uniform(std::mt19937& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random()) / 4294967296.0;
}

/// Sites of a few fast hosts each, all pairs joined by trunks of any capacity.
Network full_mesh(HostId sites, std::uint32_t seed) {
  std::mt19937 random(seed);
  Network network = named_hosts(3 * sites);
  network.sites.resize(index(sites));
  for (HostId host = 0; host < network.size(); ++host)
    network.sites[index(host % sites)].push_back(host);
  for (HostId a = 0; a < sites; ++a)
    for (HostId b = 0; b < sites; ++b) {
      if (a == b) continue;
      network.trunks.push_back({"trunk" + std::to_string(a) + "-" + std::to_string(b),
                                network.sites[index(a)], network.sites[index(b)],
                                Rate(uniform(random, 1e6, 1e7))});
    }
  return network;
}

/// Returns the least capacity of all sets of nodes with the source and without the sink, by trying
/// all.
double narrowest_cut(const network::Matrix<double>& capacity, Site source, Site sink) {
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t set = 0; set < 1U << capacity.size(); ++set) {
    const auto inside = [&](Site site) { return (set >> site & 1U) != 0; };
    if (!inside(source) || inside(sink)) continue;
    double sum = 0;
    for (Site a = 0; std::cmp_less(a, capacity.size()); ++a)
      for (Site b = 0; std::cmp_less(b, capacity.size()); ++b)
        if (inside(a) && !inside(b)) sum += capacity(a, b);
    least = std::min(least, sum);
  }
  return least;
}

network::Matrix<double> capacities(const SiteGraph& graph) {
  network::Matrix<double> capacity(graph.sites.size());
  for (const SiteGraph::Trunk& trunk : graph.trunks) {
    const auto from = std::ranges::find(trunk.from, 1) - trunk.from.begin();
    const auto to = std::ranges::find(trunk.to, 1) - trunk.to.begin();
    capacity(static_cast<Site>(from), static_cast<Site>(to)) = trunk.capacity;
  }
  return capacity;
}

TEST_CASE("trees packed on the graph of sites fill its narrowest cut, and no trunk overflows") {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    const HostId sites = 2 + static_cast<HostId>(seed % 7);
    const Network network = full_mesh(sites, seed);
    const Problem problem{
        {.kind = seed % 2 == 0 ? Kind::bcast : Kind::reduce, .ranks = network.size()},
        network,
        one_rank_per_host(network.size())};
    const SiteGraph graph(problem, seed % 2 == 0 ? DataFlow::spread : DataFlow::collect);
    REQUIRE(graph.sites.size() == index(sites));
    const std::vector<SiteTree> trees = pack_site_trees(graph, {Crossing::down, 0, 1e10});
    const network::Matrix<double> capacity = capacities(graph);
    network::Matrix<double> load(index(sites));
    double rate = 0;
    for (const SiteTree& tree : trees) {
      rate += tree.rate;
      CHECK(tree.top_down().size() == index(sites));
      for (Site site = 0; site < sites; ++site)
        if (tree.parents[index(site)] != SiteGraph::no_site)
          load(tree.parents[index(site)], site) += tree.rate;
    }
    for (Site a = 0; a < sites; ++a)
      for (Site b = 0; b < sites; ++b)
        CHECK(load(a, b) <= capacity(a, b) * (1 + 1e-6));
    // Edmonds: as much as the narrowest cut. Trees below a hundredth of the whole are left out.
    double narrowest = std::numeric_limits<double>::infinity();
    for (Site sink = 1; sink < sites; ++sink)
      narrowest = std::min(narrowest, narrowest_cut(capacity, 0, sink));
    CHECK(rate <= narrowest * (1 + 1e-6));
    CHECK(rate >= narrowest * 0.95);
  }
}

TEST_CASE("equal hosts of one switch send all that they can, in shallow trees") {
  for (const HostId hosts : {9, 16, 33, 64})
    for (const std::int32_t count : {1, 2, 4, 8}) {
      CAPTURE(hosts);
      CAPTURE(count);
      const Network network = network::even_network(hosts, Time(1e-5), Rate(1e9));
      const Problem problem{
          {.kind = Kind::bcast, .ranks = hosts}, network, one_rank_per_host(hosts)};
      const SiteGraph graph(problem, DataFlow::spread);
      const HostTrees laid =
          lay_host_trees(graph, pack_site_trees(graph, {Crossing::down, 0, 1e9}), count, 0);
      CHECK(std::cmp_equal(laid.trees.size(), count));
      CHECK(laid.rate == doctest::Approx(1e9).epsilon(0.021));
      // A host serves about `count` others in one tree: the depth is a logarithm.
      if (count < 4) continue;
      for (const HostTree& tree : laid.trees)
        for (HostId host = 0; host < hosts; ++host) {
          int depth = 0;
          for (HostId at = host; at != 0; at = tree.parents[index(at)])
            ++depth;
          CHECK(depth <= 6);
        }
    }
}

TEST_CASE("slow hosts serve nobody and slow links are left out") {
  Network network = network::even_network(12, Time(1e-5), Rate(1e9));
  network.hosts[5].egress = Rate(5e8);
  network.bandwidth.set(0, 1, Rate(1e7));
  network.bandwidth.set(3, 4, Rate(1e7));
  const Problem problem{
      {.kind = Kind::bcast, .ranks = 12, .size = 1 << 24}, network, one_rank_per_host(12)};
  for (const std::int32_t trees : {1, 2, 4}) {
    const Skeleton skeleton =
        find("packed-trees").build(problem, {.segment_size = 1 << 16, .degree = trees});
    for (const auto& parents : skeleton.parents) {
      CHECK(parents[1] != 0);
      CHECK(parents[4] != 3);
      if (trees == 1) CHECK(std::ranges::find(parents, 5) == parents.end());
    }
  }
}

TEST_CASE("packed trees do what each collective asks, on any network and placement") {
  std::mt19937 random(7);
  for (const Rank ranks : {1, 2, 3, 4, 5, 8, 13, 17, 24})
    for (const Kind kind :
         {Kind::bcast, Kind::reduce, Kind::allreduce, Kind::allgather, Kind::reduce_scatter})
      for (int round = 0; round < 4; ++round) {
        const auto seed = static_cast<std::uint32_t>(random());
        CAPTURE(seed);
        CAPTURE(ranks);
        CAPTURE(collective::to_text(kind));
        const HostId hosts = 1 + static_cast<HostId>(random() % index(ranks));
        const Network network = random_network(hosts, seed);
        const Problem problem{
            {.kind = kind,
             .ranks = ranks,
             .root = collective::is_rooted(kind) ? static_cast<Rank>(random() % index(ranks)) : 0,
             .size = 1 + static_cast<Size>(random() % 100'000)},
            network,
            random_placement(ranks, hosts, seed)};
        const Skeleton skeleton =
            find("packed-trees")
                .build(problem, {.segment_size = 700 * (round % 2), .degree = 1 + round * round});
        CHECK_NOTHROW(
            schedule::verify(problem.collective, expand(kind, skeleton, problem.collective.size)));
      }
}

TEST_CASE("where nothing limits rates there are trees all the same") {
  for (const double latency : {0.0, 0.05}) {
    const Network network = network::even_network(4, Time(latency), Rate::infinity());
    for (const Kind kind :
         {Kind::bcast, Kind::reduce, Kind::allreduce, Kind::allgather, Kind::reduce_scatter}) {
      const Problem problem{
          {.kind = kind, .ranks = 4, .size = 1'000'000}, network, one_rank_per_host(4)};
      for (const Parameters& parameters : find("packed-trees").candidates(problem)) {
        const Skeleton skeleton = find("packed-trees").build(problem, parameters);
        CHECK(!skeleton.parents.empty());
        CHECK_NOTHROW(schedule::verify(problem.collective, expand(kind, skeleton, 1'000'000)));
      }
    }
  }
}

TEST_CASE("no trees over sites are no trees over hosts") {
  const Network network = named_hosts(3);
  const Problem problem{{.kind = Kind::bcast, .ranks = 3}, network, one_rank_per_host(3)};
  const HostTrees laid = lay_host_trees(SiteGraph(problem, DataFlow::spread), {}, 2, 0);
  CHECK(laid.trees.empty());
  CHECK(laid.rate == 0);
}

TEST_CASE("paced-linear serves every rank, the far ones first where nothing else differs") {
  for (const Kind kind : {Kind::gather, Kind::scatter})
    for (const Rank ranks : {1, 2, 3, 5, 8, 13, 17}) {
      const Network random = random_network(ranks, 11);
      const Problem problem{{.kind = kind, .ranks = ranks, .root = ranks / 2, .size = 5000},
                            random,
                            one_rank_per_host(ranks)};
      for (const Size segment : {0, 700}) {
        const Skeleton skeleton = find("paced-linear").build(problem, {.segment_size = segment});
        CHECK_NOTHROW(schedule::verify(problem.collective, expand(kind, skeleton, 5000)));
      }
    }
  const Network network = two_sites(); // even numbers west, odd ones east
  const Skeleton skeleton =
      find("paced-linear")
          .build({{.kind = Kind::scatter, .ranks = 16, .root = 4, .size = 1000},
                  network,
                  one_rank_per_host(16)},
                 {});
  CHECK(skeleton.order.front() == 4);
  for (std::size_t at = 1; at < 9; ++at)
    CHECK(skeleton.order[at] % 2 == 1);
}

TEST_CASE("in parts, a rank's whole block leaves before the next one's") {
  const Network network = two_sites();
  const Problem problem{{.kind = Kind::scatter, .ranks = 16, .root = 4, .size = 1000},
                        network,
                        one_rank_per_host(16)};
  const Skeleton skeleton = find("paced-linear").build(problem, {.parts = 3});
  const schedule::Schedule schedule = expand(Kind::scatter, skeleton, 1000);
  CHECK_NOTHROW(schedule::verify(problem.collective, schedule));
  REQUIRE(schedule.transfers().size() == 45);
  for (std::size_t at = 0; at < 45; ++at)
    CHECK(schedule.transfers()[at].to == skeleton.order[1 + at / 3]);
}

TEST_CASE("no path to a rank is shorter than along the shortest-path tree") {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const Network network = random_network(11, seed);
    network::Matrix<double> distance(11);
    for (HostId a = 0; a < 11; ++a)
      for (HostId b = 0; b < 11; ++b)
        distance(a, b) = a == b ? 0 : network.latency(a, b).value();
    for (HostId via = 0; via < 11; ++via)
      for (HostId a = 0; a < 11; ++a)
        for (HostId b = 0; b < 11; ++b)
          distance(a, b) = std::min(distance(a, b), distance(a, via) + distance(via, b));
    for (const Kind kind : {Kind::bcast, Kind::scatter, Kind::reduce, Kind::gather}) {
      const bool is_down = kind == Kind::bcast || kind == Kind::scatter;
      const Skeleton skeleton = find("shortest-path-tree")
                                    .build({{.kind = kind, .ranks = 11, .root = 3, .size = 1},
                                            network,
                                            one_rank_per_host(11)},
                                           {});
      for (Rank rank = 0; rank < 11; ++rank) {
        double latency = 0;
        for (Rank at = rank; at != 3; at = skeleton.parents.front()[index(at)]) {
          const Rank parent = skeleton.parents.front()[index(at)];
          latency += (is_down ? network.latency(parent, at) : network.latency(at, parent)).value();
        }
        CHECK(latency == doctest::Approx(is_down ? distance(3, rank) : distance(rank, 3)));
      }
    }
  }
}

TEST_CASE("a postal tree reaches as many as the recurrence says") {
  // A message keeps its sender busy for 1 and arrives 3 later: N(t) = N(t - 1) + N(t - 4), from 1.
  std::vector<int> reached = {1, 1, 1, 1};
  while (reached.back() < 200)
    reached.push_back(reached[reached.size() - 1] + reached[reached.size() - 4]);
  Network network = network::even_network(reached.back(), Time(3e-3), Rate(1e15));
  network.message_costs["mpi"].send = Time(1e-3);
  for (std::size_t time = 4; time < reached.size(); ++time) {
    const Rank ranks = reached[time];
    const Skeleton skeleton =
        find("postal-tree")
            .build(make_problem({.kind = Kind::bcast, .ranks = ranks, .size = 1}, network,
                                one_rank_per_host(ranks), "mpi"),
                   {});
    std::vector<int> arrived(index(ranks), 0), free(index(ranks), 0);
    for (const Rank rank : skeleton.order) {
      const Rank parent = skeleton.parents.front()[index(rank)];
      if (parent != collective::no_rank) arrived[index(rank)] = ++free[index(parent)] + 3;
      free[index(rank)] = arrived[index(rank)];
    }
    CHECK(std::cmp_equal(*std::ranges::max_element(arrived), time));
  }
}

TEST_CASE("looking ahead, sites are reached before ranks nearby are served") {
  Network network = two_sites();
  const Skeleton skeleton = find("look-ahead-tree")
                                .build({{.kind = Kind::bcast, .ranks = 16, .root = 4, .size = 1},
                                        network,
                                        one_rank_per_host(16)},
                                       {});
  CHECK(skeleton.order[1] % 2 == 1); // the root's first message goes east
  Rank crossings = 0;
  for (Rank rank = 0; rank < 16; ++rank)
    crossings += rank != 4 && (skeleton.parents.front()[index(rank)] - rank) % 2 != 0;
  CHECK(crossings == 1);
}

TEST_CASE("looking ahead, a link counts in the direction that a collective's data takes") {
  // Hosts that receive fast and send slowly, but for the root: it serves all of them itself.
  Network network = network::even_network(6, Time(1e-3), Rate(1e9));
  for (network::Host& host : network.hosts)
    host.egress = Rate(1e6);
  network.hosts[2].egress = Rate(1e9);
  const auto children_of_root = [&](Kind kind) {
    const Skeleton skeleton = find("look-ahead-tree")
                                  .build({{.kind = kind, .ranks = 6, .root = 2, .size = 100'000},
                                          network,
                                          one_rank_per_host(6)},
                                         {});
    return std::ranges::count(skeleton.parents.front(), 2);
  };
  CHECK(children_of_root(Kind::bcast) == 5);
  CHECK(children_of_root(Kind::scatter) == 5);
  CHECK(children_of_root(Kind::reduce) < 5); // whose data takes the slow ports
}

} // namespace
} // namespace thalweg::algorithms
