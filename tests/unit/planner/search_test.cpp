#include "../algorithms/networks.hpp"
#include "networks.hpp"
#include "planner/search.hpp"
#include "schedule/verify.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <array>
#include <doctest/doctest.h>

using namespace thalweg;
using namespace thalweg::planner;
using namespace thalweg::planner::testing;
using algorithms::testing::random_network;
using algorithms::testing::random_placement;

namespace {

Climb climb_of(std::int64_t messages, std::uint64_t seed = 0) {
  Climb options;
  options.seed = seed;
  options.messages = messages;
  options.fast.fidelity = simulator::Fidelity::fast;
  return options;
}

} // namespace

TEST_CASE("whatever is moved, the schedule stays correct") {
  test::Sample sample(4);
  for (const Rank ranks : {2, 3, 5, 8, 13}) {
    const Network net = random_network(ranks, static_cast<std::uint32_t>(ranks));
    const Placement placement = random_placement(ranks, ranks, static_cast<std::uint32_t>(ranks));
    for (const Kind kind : collective::kinds)
      for (const algorithms::Algorithm* algorithm : algorithms::all()) {
        const Rank root = collective::is_rooted(kind) ? ranks / 2 : 0;
        const Problem drawn = algorithms::make_problem(
            {.kind = kind, .ranks = ranks, .root = root, .size = kind == Kind::barrier ? 0 : 6000},
            net, placement, "openmpi");
        if (!algorithm->can_do(drawn.collective) || !sample.takes_next()) continue;
        const auto parameters = algorithm->candidates(drawn);
        if (parameters.empty()) continue;
        Skeleton skeleton = algorithm->build(drawn, parameters.front());
        Moves moves(drawn, static_cast<std::uint64_t>(ranks));
        for (int move = 0; move < 12; ++move) {
          const auto moved = moves.draw(skeleton, {});
          if (!moved) continue;
          CAPTURE(collective::to_text(kind));
          CAPTURE(skeleton.algorithm);
          CAPTURE(ranks);
          REQUIRE_NOTHROW(schedule::verify(
              drawn.collective, algorithms::expand(kind, *moved, drawn.collective.size)));
          skeleton = *moved;
        }
      }
  }
}

TEST_CASE("moves of a tree: parents, places and segments change, the root doesn't") {
  const Network net = two_sites(4);
  const Problem bcast = problem(net, Kind::bcast, 100000, 3);
  const Skeleton start = algorithms::find("binomial").build(bcast, {});
  REQUIRE(is_joined_tree(start));
  Moves moves(bcast, 1);
  int parents = 0, orders = 0, segments = 0, windows = 0;
  for (int i = 0; i < 200; ++i) {
    const auto moved = moves.draw(start, {});
    if (!moved) continue;
    CHECK(is_joined_tree(*moved));
    CHECK(moved->order.front() == 3);
    parents += moved->parents != start.parents;
    orders += moved->parents == start.parents && moved->order != start.order;
    segments += moved->segment_size != start.segment_size;
    windows += moved->window != start.window;
  }
  CHECK(parents > 0);
  CHECK(orders > 0);
  CHECK(segments > 0);
  CHECK(windows > 0);
}

TEST_CASE("a wide window stays one, and within what executors allow") {
  const Network net = two_sites(4);
  const Problem bcast = problem(net, Kind::bcast, 100000, 3);
  Skeleton skeleton = algorithms::find("binomial").build(bcast, {});
  skeleton.window = schedule::widest_window;
  Moves moves(bcast, 1);
  int narrower = 0;
  for (int i = 0; i < 200; ++i)
    if (const auto moved = moves.draw(skeleton, {})) {
      CHECK(moved->window >= schedule::widest_window / 2);
      CHECK(moved->window <= schedule::widest_window);
      narrower += moved->window < skeleton.window;
    }
  CHECK(narrower > 0);
}

TEST_CASE("weights that are shifted keep their sum") {
  const Network net = two_sites(3);
  const Problem allreduce = problem(net, Kind::allreduce, 100000);
  Skeleton skeleton = algorithms::find("ring").build(allreduce, {});
  Moves moves(allreduce, 5);
  int shifted = 0;
  for (int i = 0; i < 200; ++i) {
    const auto moved = moves.draw(skeleton, {});
    if (!moved || moved->weights == skeleton.weights) continue;
    ++shifted;
    std::int64_t sum = 0;
    for (const std::int32_t weight : moved->weights) {
      CHECK(weight >= 0);
      sum += weight;
    }
    CHECK(sum == 6 * 840);
    skeleton = *moved;
  }
  CHECK(shifted > 0);
}

TEST_CASE("a joined tree has each rank after its parent") {
  Skeleton skeleton;
  skeleton.ranks = 3;
  skeleton.order = {1, 0, 2};
  skeleton.parents = {{1, collective::no_rank, 0}};
  CHECK(is_joined_tree(skeleton));
  skeleton.order = {1, 2, 0};
  CHECK(!is_joined_tree(skeleton));
  skeleton.order = {1, 0};
  CHECK(!is_joined_tree(skeleton));
  skeleton.parents.clear();
  CHECK(!is_joined_tree(skeleton));
}

TEST_CASE("a climb is never worse than its start, and longer ones never worse than shorter") {
  for (std::uint32_t seed = 0; seed < test::share_of(6U, 3); ++seed) {
    const Network net = random_network(9, seed);
    const Kind kind = std::array{Kind::bcast, Kind::reduce, Kind::allreduce}[seed % 3];
    const Problem drawn = problem(net, kind, 20000);
    const Skeleton start = algorithms::find("binomial").build(drawn, {});
    const Climb none = climb_of(0);
    const Climbed before = climb(drawn, start, none);
    CHECK(before.skeleton == start);
    Time last = before.fluid;
    CHECK(last == simulator::simulate(drawn, start, none.fluid).time);
    for (const std::int64_t messages : {5000, 20000, 60000}) {
      const Climbed climbed = climb(drawn, start, climb_of(messages));
      CHECK(climbed.fluid <= last);
      CHECK(climbed.fluid == simulator::simulate(drawn, climbed.skeleton, none.fluid).time);
      last = climbed.fluid;
    }
    CHECK(last < before.fluid); // A binomial tree by rank is never the best on such a network.
    CHECK(climb(drawn, start, climb_of(20000)).skeleton ==
          climb(drawn, start, climb_of(20000)).skeleton);
  }
}

TEST_CASE("a patient plan is searched for, deterministically, and never worse") {
  const Network net = random_network(8, 3);
  const Problem bcast = problem(net, Kind::bcast, 50000, 2);
  PlanOptions options;
  const Plan normal = plan(bcast, options);
  options.effort = Effort::patient;
  options.budget = 0.05;
  const Explanation patient = explain(bcast, options);
  CHECK(patient.plan.predicted <= normal.predicted);
  CHECK(explain(bcast, options).plan.skeleton == patient.plan.skeleton);
  const auto searched = [](const Candidate& candidate) { return candidate.searched; };
  CHECK(std::ranges::any_of(patient.candidates, searched));
  CHECK(std::ranges::any_of(patient.passes,
                            [](const PassTime& pass) { return pass.pass == "search"; }));
  options.disabled = {"search"};
  const Explanation without = explain(bcast, options);
  CHECK(std::ranges::none_of(without.candidates, searched));
  CHECK(without.plan.predicted == normal.predicted);
}
