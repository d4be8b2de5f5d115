#include "adapting/programs.hpp"

#include <doctest/doctest.h>

using namespace thalweg;
using namespace thalweg::test;
using runtime::Cause;
using runtime::Purpose;
using runtime::Quantity;
using What = Cause::What;

TEST_CASE("on a calm network nothing is noticed, and nothing is lost") {
  const Network calm = three_sites();
  for (const Shapes& shapes : {Shapes{bcast, sum}, Shapes{bcast}, Shapes{sum}}) {
    CAPTURE(shapes.size());
    const std::uint64_t runs = shapes.size() == 2 ? 100 : 20;
    const Plans plans = plans_for(calm, shapes, calm);
    std::size_t alarms = 0;
    double racing = 0, following = 0;
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
      Story story = story_of(calm, shapes, seed);
      story.calls = seed > 10 ? 200 : 600; // so that what is done once counts little
      story.noise = 0.2;
      const Run follows = run(story, Mode::follows, plans);
      CHECK(follows.alike);
      for (const runtime::Attempt& attempt : follows.attempts)
        if (attempt.purpose != Purpose::improvement) ++alarms;
      if (seed > 10) continue;
      following += follows.seconds();
      racing += run(story, Mode::races, plans).seconds();
    }
    CHECK(alarms == 0);
    CHECK(following < 1.005 * racing);
  }
}

TEST_CASE("broadcasts in a row get a plan with which one begins before the last has ended") {
  const Network calm = three_sites();
  const Plans plans = plans_for(calm, {bcast}, calm);
  Story story = story_of(calm, {bcast}, 1);
  story.calls = calls_in(phase_s, story, plans);
  const Run follows = run(story, Mode::follows, plans);
  CHECK(follows.alike);
  REQUIRE_FALSE(follows.attempts.empty());
  const runtime::Attempt& first = follows.attempts.front();
  CHECK(first.purpose == Purpose::improvement);
  CHECK(first.outcome == runtime::AttemptState::Outcome::adopted);
  CHECK_FALSE(first.was_worse);
  CHECK(follows.seconds() < 0.9 * run(story, Mode::stays, plans).seconds());
}

TEST_CASE("a broadcast that follows a gather gets no plan for broadcasts in a row") {
  const Network calm = three_sites();
  const Plans plans = plans_for(calm, {bcast}, calm);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Story story = story_of(calm, {gather, bcast}, seed);
    story.calls = calls_in(phase_s, story, plans);
    const Run follows = run(story, Mode::follows, plans);
    CHECK(follows.alike);
    for (const runtime::Attempt& attempt : follows.attempts) {
      CHECK(attempt.purpose == Purpose::improvement);
      CHECK_FALSE(attempt.was_worse);
      for (const runtime::PlanChange& change : attempt.changes)
        CHECK(change.after != "pipelined-chain");
    }
    CHECK(follows.seconds() <= 1.005 * run(story, Mode::races, plans).seconds());
  }
}

TEST_CASE("a leader without memory for planning leaves the plans, and says so once") {
  const Network calm = three_sites();
  const Network worse =
      runtime::changed(calm, std::vector<Cause>{ten_times(What::trunk, 4)}, Quantity::bandwidth);
  const Plans plans = plans_for(calm, {sum}, calm);
  Story story = story_of(calm, {sum}, 1);
  story.calls = 2 * calls_in(phase_s, story, plans);
  story.changes = {{0, calm}, {story.calls / 2, worse}};
  story.planning_s.reset();
  const Run follows = run(story, Mode::follows, plans);
  CHECK(follows.alike);
  CHECK(follows.adopted.empty());
  REQUIRE(follows.attempts.size() >= 2);
  CHECK(follows.attempts.front().outcome == runtime::AttemptState::Outcome::no_memory);
  CHECK(follows.said.size() == 1);
}
