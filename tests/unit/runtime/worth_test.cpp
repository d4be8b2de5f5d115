#include "runtime/choose/worth.hpp"

#include <doctest/doctest.h>
#include <random>

namespace thalweg::runtime {
namespace {

using collective::Kind;
using collective::Rank;

TEST_CASE("a call costs rounds of latency and the data at the busiest rank") {
  network::Network network = network::even_network(3, units::Time(1e-3), units::Rate(1 << 20));
  network.latency.set(0, 2, units::Time(5e-3));
  const SlowestPath path = SlowestPath::of(network, {0, 1, 2, 0});
  CHECK(path.latency_ns == 5'000'000);
  CHECK(path.ns_per_mib == 1'000'000'000);
  CHECK(SlowestPath::of(network, {1, 0}).latency_ns == 1'000'000);
  CHECK(call_cost_ns(Kind::bcast, 4, 0, path) == 2 * path.latency_ns);
  CHECK(call_cost_ns(Kind::allreduce, 5, 0, path) == 2 * 3 * path.latency_ns);
  // A MiB per second, in whole nanoseconds per KiB.
  const std::int64_t kib_ns = path.ns_per_mib / 1024;
  CHECK(call_cost_ns(Kind::bcast, 2, 1 << 20, path) == path.latency_ns + 1024 * kib_ns);
  CHECK(call_cost_ns(Kind::gather, 4, 1 << 20, path) == 2 * path.latency_ns + 3 * 1024 * kib_ns);
  CHECK(call_cost_ns(Kind::alltoall, 100'000, units::Size{1} << 60, path) > 0);
}

TEST_CASE("plans for communicators never take more than 2 % of the time since MPI_Init") {
  std::mt19937 random(1);
  for (int run = 0; run < 50; ++run) {
    std::int64_t now = 1'000'000'000, spent = 0;
    const std::int64_t start = now;
    PlanningBudget budget(start);
    // This host is faster or slower than usual, always alike, by at most the safety at first.
    const auto percent = static_cast<std::int64_t>(10 + random() % 190);
    int plans = 0;
    for (int i = 0; i < 300; ++i) {
      now += static_cast<std::int64_t>(random() % 1'000'000'000);
      const auto ranks = static_cast<Rank>(2 + random() % 20);
      if (budget.shortfall_ns(ranks, now) > 0) continue;
      const std::int64_t takes = PlanningBudget(0).expected_ns(ranks) / 200 * percent;
      budget.spend(ranks, takes);
      spent += takes;
      ++plans;
      CHECK(spent * 50 <= now - start);
    }
    CHECK(plans > 0);
  }
}

TEST_CASE("plans are expected to take longer in proportion to the ranks, or less") {
  const PlanningBudget budget(0);
  for (Rank ranks = 2; ranks <= 4096; ranks *= 2)
    CHECK(budget.expected_ns(2 * ranks) <= 2 * budget.expected_ns(ranks));
}

TEST_CASE("one short plan on a busy processor doesn't tell how long others take") {
  PlanningBudget budget(0);
  const std::int64_t small = budget.expected_ns(16), large = budget.expected_ns(1024);
  budget.spend(16, 10 * small);
  budget.spend(1024, large);
  CHECK(budget.expected_ns(1024) < 2 * large);
  CHECK(budget.expected_ns(1024) > large);
}

} // namespace
} // namespace thalweg::runtime
