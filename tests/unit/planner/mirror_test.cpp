#include "networks.hpp"
#include "planner/mirror.hpp"
#include "schedule/verify.hpp"

#include <doctest/doctest.h>

namespace thalweg::planner::testing {
namespace {

/// Whether the network is the same once the first two ranks of the pair are exchanged.
bool are_alike(const Network& net, const Placement& placement, Rank first, Rank second) {
  const auto mirror = Mirror::find(net, placement, first, second);
  if (!mirror) return false;
  CHECK((*mirror)(first) == second);
  CHECK((*mirror)(second) == first);
  for (std::size_t a = 0; a < placement.size(); ++a) {
    const auto a_image = static_cast<std::size_t>((*mirror)(static_cast<Rank>(a)));
    CHECK((*mirror)(static_cast<Rank>(a_image)) == static_cast<Rank>(a));
    for (std::size_t b = 0; b < placement.size(); ++b) {
      if (a == b) continue;
      const auto b_image = static_cast<std::size_t>((*mirror)(static_cast<Rank>(b)));
      CHECK(net.latency(placement[a], placement[b]) ==
            net.latency(placement[a_image], placement[b_image]));
      CHECK((placement[a] == placement[b]) == (placement[a_image] == placement[b_image]));
    }
  }
  return true;
}

} // namespace

TEST_CASE("ranks are exchanged where the network stays the same") {
  const Network net = two_sites(3);
  const Placement placement = one_each(6);
  for (Rank other = 1; other < 6; ++other)
    CHECK(are_alike(net, placement, 0, other));
  CHECK(are_alike(net, {0, 0, 1, 1, 4, 4, 5, 5}, 1, 6));
  CHECK(are_alike(net, {0, 0, 1, 4}, 0, 1));
  // Other numbers of ranks on the hosts, or of hosts in the sites.
  CHECK(!are_alike(net, {0, 0, 1, 3, 4}, 0, 2));
  CHECK(!are_alike(net, {0, 1, 3}, 0, 2));
}

TEST_CASE("ranks aren't exchanged where the network differs in anything") {
  const Placement placement = one_each(6);
  Network net = two_sites(3);
  net.hosts[1].egress = Rate(1e6);
  CHECK(!are_alike(net, placement, 0, 1));
  CHECK(are_alike(net, placement, 0, 2));
  CHECK(!are_alike(net, placement, 0, 3));
  net = two_sites(3);
  net.latency.set(2, 1, Time(2e-4));
  CHECK(!are_alike(net, placement, 0, 1));
  net = two_sites(3);
  net.bandwidth.set(4, 0, Rate(1e6));
  CHECK(!are_alike(net, placement, 3, 4));
  net = two_sites(3);
  net.trunks[0].capacity = Rate(1e6);
  CHECK(!are_alike(net, placement, 0, 3));
  CHECK(are_alike(net, placement, 0, 1));
  net.trunks[0].from.pop_back();
  CHECK(!are_alike(net, placement, 0, 2));
}

TEST_CASE("an exchanged skeleton of any algorithm is right for the other root") {
  const Network net = two_sites(3);
  const Placement placement = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5};
  for (const Kind kind : {Kind::bcast, Kind::reduce, Kind::gather, Kind::scatter})
    for (const Rank root : {0, 3}) {
      const algorithms::Problem problem = algorithms::make_problem(
          {.kind = kind, .ranks = 12, .root = root, .size = 300000}, net, placement, "openmpi");
      int tried = 0;
      for (const algorithms::Algorithm* algorithm : algorithms::all()) {
        if (!algorithm->can_do(problem.collective)) continue;
        for (const algorithms::Parameters& parameters : algorithm->candidates(problem))
          for (const Rank other : {1, 2, 7, 8}) {
            CAPTURE(algorithm->name());
            CAPTURE(other);
            const auto mirror = Mirror::find(net, placement, root, other);
            if (!mirror) continue;
            const Skeleton skeleton =
                (*mirror)(algorithms::make_skeleton(*algorithm, problem, parameters));
            collective::Collective turned = problem.collective;
            turned.root = other;
            CHECK_NOTHROW(algorithms::check(skeleton));
            CHECK_NOTHROW(algorithms::check_fit(skeleton, turned));
            CHECK_NOTHROW(
                schedule::verify(turned, algorithms::expand(kind, skeleton, turned.size)));
            ++tried;
          }
      }
      CHECK(tried > 20);
    }
}

} // namespace thalweg::planner::testing
