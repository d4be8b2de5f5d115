#include "networks.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>

using namespace thalweg;
using namespace thalweg::planner;
using namespace thalweg::planner::testing;

namespace {

/// Messages of the busiest rank that have data.
double busiest(const Problem& problem, const Skeleton& skeleton) {
  std::vector<int> messages(static_cast<std::size_t>(problem.collective.ranks));
  const schedule::Schedule schedule =
      algorithms::expand(problem.collective.kind, skeleton, problem.collective.size);
  const schedule::Layout layout = schedule.layout(problem.collective);
  for (std::int32_t segment = 0; segment < layout.segments(); ++segment)
    for (const schedule::Transfer& transfer : schedule.transfers()) {
      if (layout.size(segment, transfer.what) == 0) continue;
      ++messages[static_cast<std::size_t>(transfer.from)];
      ++messages[static_cast<std::size_t>(transfer.to)];
    }
  return std::ranges::max(messages);
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
  for (const Kind kind :
       {Kind::bcast, Kind::gather, Kind::scatter, Kind::allgather, Kind::allreduce})
    for (const Size size : {Size{3}, Size{64}, Size{8000}, Size{1'000'000}, Size{8'000'000}}) {
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

TEST_CASE("the best candidate is chosen where only that one wins against native") {
  const Network net = two_sites(4);
  const Problem bcast = problem(net, Kind::bcast, 1'000'000);
  const Plan tie = plan(bcast, only_candidates());
  REQUIRE(tie.times_best > 1);
  const Time best = tie.predicted / tie.times_best;
  const auto with_native_of = [&](Time time) {
    Network measured = net;
    measured.native_times = {{"openmpi", "bcast", 1'000'000, time}};
    return measured;
  };
  const double uncertainty =
      plan(problem(with_native_of(best), Kind::bcast, 1'000'000), openmpi()).native.uncertainty;
  // Between the times of both: only the best one is 5 % faster beyond the uncertainty.
  const Time native = std::sqrt(tie.times_best) * best / (0.95 * (1 - uncertainty));
  const Network measured = with_native_of(native);
  const Explanation found = explain(problem(measured, Kind::bcast, 1'000'000), openmpi());
  CHECK(found.plan.algorithm != "native");
  CHECK(found.plan.predicted.value() == doctest::Approx(best.value()));
  CHECK(found.plan.times_best == 1);
  CHECK(found.plan.reason.find("hardly slower") == std::string::npos);
}

TEST_CASE("native's candidates are listed best first") {
  Network net = two_sites(4);
  net.native_times = {{"openmpi", "bcast", 1'000'000, Time(1e-3)}};
  const Explanation found = explain(problem(net, Kind::bcast, 1'000'000), openmpi());
  REQUIRE(found.plan.algorithm == "native");
  Time before{};
  for (const Candidate& candidate : found.candidates) {
    if (!candidate.fluid) break;
    CHECK(*candidate.fluid >= before);
    before = *candidate.fluid;
  }
}
