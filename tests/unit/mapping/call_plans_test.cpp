#include "mapping/call_plans.hpp"
#include "mapping/starts.hpp"
#include "planner/planner.hpp"
#include "problems.hpp"
#include "unit/share.hpp"

#include <doctest/doctest.h>

namespace thalweg::mapping {
namespace {

using collective::Kind;
using test::share_of;
using testing::Draw;

/// What a plan of all candidates takes.
double planned(const Problem& problem, const Call& call, const Placement& placement) {
  planner::PlanOptions options;
  options.disabled = {"native", "bound", "verify"};
  const collective::Collective collective{
      .kind = call.kind, .ranks = problem.ranks(), .root = call.root, .size = call.size};
  return planner::plan({collective, problem.network, placement}, options).predicted.value();
}

TEST_CASE("few choices take about as long as the best of all, and no less than the lower limit") {
  for (std::uint64_t seed = 0; seed < share_of(6U, 2); ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const int hosts = 3 + draw.below(4);
    const Rank ranks = 3 * hosts;
    const Network net = testing::uneven_network(hosts, draw);
    const Problem problem{net, {ranks, {}}, std::vector<std::int32_t>(index(hosts), 3)};
    const Rank root = draw.below(ranks);
    const std::vector<Call> calls = {{Kind::allreduce, 8, 1, 0, {}},
                                     {Kind::bcast, 1000, 1, root, {}},
                                     {Kind::reduce, 200'000, 1, root, {}},
                                     {Kind::allgather, 5000, 1, 0, {}},
                                     {Kind::barrier, 0, 1, 0, {}}};
    for (const Call& call : calls) {
      CAPTURE(collective::to_text(call.kind));
      CallPlans plans(problem, call);
      for (const Placement& each : {block(problem), interleave(problem), random(problem, seed)}) {
        const double seconds = plans.seconds(each), least = planned(problem, call, each);
        CHECK(seconds < 1.25 * least);
        CHECK(seconds > 0.8 * least);
        CHECK(plans.least_seconds(each) <= seconds * (1 + 1e-9));
        CHECK(CallPlans(problem, call).least_seconds(each) <=
              doctest::Approx(plans.least_seconds(each)).epsilon(1e-3));
      }
    }
  }
}

TEST_CASE("calls count by how often they are made and by the share of ranks in them") {
  const Network net = network::even_network(4, Time(1e-4), units::Rate(1e8));
  const Problem problem{net, {8, {}}, std::vector<std::int32_t>(4, 2)};
  const Placement placement = block(problem);
  const double once =
      CallPlans(problem, {Kind::allreduce, 8, 1, 0, {0, 2, 4, 6}}).seconds(placement);
  CHECK(once > 0);
  CHECK(CallPlans(problem, {Kind::allreduce, 8, 10, 0, {0, 2, 4, 6}}).seconds(placement) ==
        doctest::Approx(10 * once));
  CHECK(CallPlans(problem, {Kind::allreduce, 8, 1, 0, {}}).seconds(placement) ==
        doctest::Approx(2 * once));
  CallPlans inside(problem, {Kind::allreduce, 8, 1, 0, {0, 1}});
  CHECK(inside.seconds(placement) == 0);
  CHECK(inside.least_seconds(placement) == 0);
  // It isn't on one host everywhere.
  CHECK(inside.seconds(interleave(problem)) > 0);
}

} // namespace
} // namespace thalweg::mapping
