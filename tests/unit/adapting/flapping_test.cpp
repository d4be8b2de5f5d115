#include "adapting/programs.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace thalweg;
using namespace thalweg::test;
using collective::Kind;
using runtime::Cause;
using runtime::Quantity;
using What = Cause::What;

TEST_CASE("a link that comes and goes costs little more than the best plans for it") {
  const Network calm = three_sites();
  const auto try_link = [&](const Shapes& shapes, std::int32_t trunk, double flap_s = 2) {
    CAPTURE(to_text(shapes.front().kind));
    CAPTURE(shapes.size());
    CAPTURE(trunk);
    CAPTURE(flap_s);
    const bool broadcasts = shapes.front().kind == Kind::bcast;
    const Network worse = runtime::changed(calm, std::vector<Cause>{ten_times(What::trunk, trunk)},
                                           Quantity::bandwidth);
    const Plans plans = plans_for(calm, shapes, calm);
    Story story = story_of(calm, shapes, 1);
    story.calls = 5 * calls_in(phase_s, story, plans); // so that what is done once counts little
    story.changes = {{0, calm}, {0, worse}};
    story.flap_s = flap_s;
    const Run follows = run(story, Mode::follows, plans);
    const double staying = run(story, Mode::stays, plans).seconds();
    CHECK(follows.alike);
    CHECK(follows.seconds() <= 1.05 * staying);
    // Allreduces keep their plans, where others would be better for both of the link's states.
    if (!broadcasts) return;
    const double avoiding = run(story, Mode::stays, plans_for(worse, shapes, calm)).seconds();
    CHECK(follows.seconds() <= 1.05 * avoiding);
  };
  try_link({sum}, 4);
  try_link({bcast}, 1);
  try_link({bcast}, 0, 2.1); // Calls take as usual again before it is known that that lasts.
  try_link({bcast, sum}, 1);
}
