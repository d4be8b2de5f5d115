#include "networks.hpp"
#include "planner/neighborhood.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <map>
#include <random>
#include <set>
#include <tuple>

using namespace thalweg;
using namespace thalweg::planner;
using namespace thalweg::planner::testing;

namespace {

/// Draws a graph in which no edge is there twice.
std::vector<Edge> random_edges(std::mt19937& random, Rank ranks, int tries) {
  std::set<std::pair<Rank, Rank>> known;
  std::vector<Edge> edges;
  std::uniform_int_distribution<Rank> rank(0, ranks - 1);
  for (int i = 0; i < tries; ++i) {
    const Rank from = rank(random), to = rank(random);
    if (from != to && known.emplace(from, to).second)
      edges.push_back({from, to, 1 + 999 * (i % 7)});
  }
  return edges;
}

} // namespace

TEST_CASE("in a step each rank, or each host, sends at most one message and receives one") {
  const Network net = two_sites(3);
  const Placement two_each{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5};
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    const std::vector<Edge> edges = random_edges(random, 12, 10 + 5 * round);
    for (const Pacing pacing : {Pacing::by_rank, Pacing::by_host}) {
      const std::vector<Step> steps = steps_of(edges, net, two_each, pacing);
      const auto node = [&](Rank rank) {
        return pacing == Pacing::by_rank ? rank : two_each[static_cast<std::size_t>(rank)];
      };
      std::set<std::tuple<Step, bool, int>> busy;
      for (std::size_t at = 0; at < edges.size(); ++at) {
        CHECK(steps[at] >= 0);
        if (node(edges[at].from) == node(edges[at].to)) continue;
        CHECK(busy.emplace(steps[at], true, node(edges[at].from)).second);
        CHECK(busy.emplace(steps[at], false, node(edges[at].to)).second);
      }
    }
  }
}

TEST_CASE("far messages come first") {
  const Network net = two_sites(3);
  const std::vector<Edge> edges{{0, 1, 8}, {0, 5, 8}, {2, 1, 8}, {4, 0, 8}};
  CHECK(steps_of(edges, net, one_each(6), Pacing::far_first) == std::vector<Step>{1, 0, 1, 0});
  CHECK(steps_of(edges, net, one_each(6), Pacing::native) == std::vector<Step>{0, 0, 0, 0});
  CHECK(steps_of({}, net, one_each(6), Pacing::far_first).empty());
}

/// Draws a graph of edges in both directions, most of which end at few ranks.
std::vector<Edge> skewed_edges(std::mt19937& random, Rank ranks) {
  std::set<std::pair<Rank, Rank>> known;
  std::vector<Edge> edges;
  std::uniform_real_distribution<double> any(0, 1);
  for (Rank rank = 0; rank < ranks; ++rank)
    for (int i = 0; i < 4; ++i) {
      const auto other = static_cast<Rank>(ranks * std::pow(any(random), 3));
      if (other == rank || !known.emplace(std::minmax(rank, other)).second) continue;
      edges.push_back({rank, other, 1'000'000});
      edges.push_back({other, rank, 1'000'000});
    }
  return edges;
}

TEST_CASE("what is chosen is predicted to take 5 % less than native, or is native") {
  std::mt19937 random(3);
  Network racks = network::even_network(8, Time(4e-5), Rate(1.25e9));
  for (network::Host& host : racks.hosts)
    host.egress = host.ingress = Rate(1.25e9);
  racks.trunks = {{"up", {0, 1, 2, 3}, {4, 5, 6, 7}, Rate(1.25e9)},
                  {"down", {4, 5, 6, 7}, {0, 1, 2, 3}, Rate(1.25e9)}};
  racks.message_costs["openmpi"] = {.send = Time(5e-6),
                                    .receive = Time(5e-6),
                                    .per_byte = Time(1e-10),
                                    .handshake = Time(1e-5),
                                    .eager_limit = 62 * 1024};
  Placement placement;
  for (HostId host = 0; host < 8; ++host)
    placement.insert(placement.end(), 4, host);
  std::map<bool, int> chosen;
  for (int round = 0; round < 16; ++round) {
    const std::vector<Edge> edges =
        round % 2 == 0 ? random_edges(random, 32, 10) : skewed_edges(random, 32);
    const NeighborhoodChoice choice = plan_neighborhood(edges, racks, placement, "openmpi");
    CHECK(choice.native > Time(0));
    if (choice.pace == 0)
      CHECK(choice.time == choice.native);
    else
      CHECK(1.05 * choice.time.value() <= choice.native.value());
    ++chosen[choice.pace != 0];
  }
  CHECK(chosen.size() == 2); // both happen on such a network
}

TEST_CASE("without messages, or with nothing in them, neighbourhoods are native") {
  const Network net = two_sites(2);
  CHECK(plan_neighborhood({}, net, one_each(4), "").pace == 0);
  const std::vector<Edge> empty{{0, 1, 0}, {1, 3, 0}};
  CHECK(plan_neighborhood(empty, net, one_each(4), "openmpi").pace == 0);
  // Sizes may be beyond what the weights of a schedule's chunks can be.
  const std::vector<Edge> huge{{0, 1, Size{1} << 40}, {1, 3, 1}, {2, 3, Size{1} << 33}};
  const NeighborhoodChoice choice = plan_neighborhood(huge, net, one_each(4), "openmpi");
  CHECK(choice.native.value() == doctest::Approx((1LL << 40) / 12.5e6).epsilon(0.01));
}
