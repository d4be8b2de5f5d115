#include "networks.hpp"
#include "planner/judge.hpp"

#include <doctest/doctest.h>

using namespace thalweg;
using namespace thalweg::planner;
using namespace thalweg::planner::testing;

namespace {

/// An alltoall of ranks on two hosts.
Problem alltoall(const Network& net, Rank ranks) {
  Placement placement;
  for (Rank rank = 0; rank < ranks; ++rank)
    placement.push_back(2 * rank / ranks);
  return algorithms::make_problem({.kind = Kind::alltoall, .ranks = ranks, .size = 1}, net,
                                  placement, "");
}

/// By one algorithm, with the passes that need little memory.
PlanOptions only(const char* algorithm) {
  PlanOptions options;
  options.force = algorithm;
  options.disabled = {"native", "bound", "fluid"};
  return options;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

const char* const unverified = "its schedule is too large to be verified";

} // namespace

TEST_CASE("a schedule with too many messages isn't replayed, and the plan says so") {
  const Network net = network::even_network(2, Time(0.01), Rate(1e9));
  PlanOptions options = only("linear");
  options.disabled.emplace_back("fast");
  const Problem large = alltoall(net, 1500); // 2.2 million messages
  CHECK(contains(plan(large, options).reason, unverified));
  CHECK(explain(large, options).critical_path.empty());
  CHECK(!contains(plan(alltoall(net, 100), options).reason, unverified));
  options.disabled.emplace_back("verify");
  CHECK(!contains(plan(large, options).reason, unverified));
}

TEST_CASE("the segments of a long pipeline are alike: one is verified") {
  const Network net = network::even_network(60, Time(0.01), Rate(1e9));
  const Problem bcast = algorithms::make_problem(
      {.kind = Kind::bcast, .ranks = 60, .size = 4'096'000'000'000}, net, one_each(60), "");
  const Plan made = plan(bcast, only("pipelined-chain"));
  REQUIRE(simulator::simulated_messages(bcast, made.skeleton, {}) > 2'000'000);
  CHECK(!contains(made.reason, unverified));
}

TEST_CASE("messages of few bytes may carry more chunks than can be simulated or replayed") {
  // In each of 13 rounds each of 6000 ranks sends about half of its 6000 blocks on: 0.2 thousand
  // million in 78,000 messages.
  const Network net = network::even_network(2, Time(0.01), Rate(1e9));
  const Problem large = alltoall(net, 6000);
  const Skeleton bruck = algorithms::find("bruck").build(large, {});
  const Limits limits;
  for (const auto fidelity : {simulator::Fidelity::fast, simulator::Fidelity::fluid})
    CHECK(is_too_large(large, bruck, simulation({}, limits, fidelity), limits));
  CHECK(!can_be_expanded(large, bruck, 1'000'000));

  const Explanation found = explain(large, only("bruck"));
  for (const Candidate& candidate : found.candidates) {
    CHECK(candidate.estimate);
    CHECK(!candidate.fast);
  }
  CHECK(contains(found.plan.reason, unverified));
  CHECK(found.critical_path.empty());
}
