#include "networks.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace thalweg;
using namespace thalweg::planner;
using namespace thalweg::planner::testing;

namespace {

/// Messages of the busiest rank.
double busiest(const Problem& problem, const Skeleton& skeleton) {
  std::vector<int> messages(static_cast<std::size_t>(problem.collective.ranks));
  const Kind kind = problem.collective.kind;
  const schedule::Sink sink = algorithms::emit(kind, skeleton, collective::no_rank);
  for (const schedule::Transfer& transfer : sink.transfers()) {
    ++messages[static_cast<std::size_t>(transfer.from)];
    ++messages[static_cast<std::size_t>(transfer.to)];
  }
  return static_cast<double>(std::ranges::max(messages)) *
         skeleton.pipeline(problem.collective.size).segments;
}

/// Without native, so that a candidate is chosen.
PlanOptions only_candidates() {
  PlanOptions options = openmpi();
  options.disabled = {"native"};
  return options;
}

} // namespace

TEST_CASE("of candidates that are as good the one whose busiest rank has far fewer messages is "
          "chosen") {
  const Network net = two_sites(4);
  int ties = 0;
  for (const Kind kind : {Kind::bcast, Kind::gather, Kind::scatter, Kind::allgather})
    for (const Size size : {Size{64}, Size{8000}, Size{1'000'000}, Size{8'000'000}}) {
      CAPTURE(collective::to_text(kind));
      CAPTURE(size);
      const Problem wanted = problem(net, kind, size);
      const Explanation found = explain(wanted, only_candidates());
      const Plan& plan = found.plan;
      REQUIRE(found.candidates.size() > 1);
      const Candidate& next = found.candidates[1];
      CHECK(found.candidates.front().fluid == plan.predicted);
      if (!next.fluid || *next.fluid >= plan.predicted) continue;
      ++ties;
      CAPTURE(plan.reason);
      CHECK(plan.predicted <= *next.fluid * 1.02);
      CHECK(plan.reason.find("hardly slower than " + next.algorithm) != std::string::npos);
      CHECK(plan.reason.find("times as many messages") != std::string::npos);
      if (next.window != next.parameters.window) continue;
      const Skeleton faster =
          algorithms::make_skeleton(algorithms::find(next.algorithm), wanted, next.parameters);
      CHECK(busiest(wanted, faster) >= 2 * busiest(wanted, plan.skeleton));
    }
  CHECK(ties > 0);
}
