#include "../algorithms/networks.hpp"
#include "networks.hpp"
#include "planner/parallel.hpp"
#include "planner/table.hpp"
#include "unit/share.hpp"

#include <atomic>
#include <doctest/doctest.h>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace thalweg::planner {
namespace {
using namespace testing;
} // namespace

TEST_CASE("every call is made once, by the threads asked for at most") {
  for (const int threads : {1, 2, 7}) {
    std::mutex mutex;
    std::set<std::thread::id> seen;
    std::vector<int> calls(100);
    for_each_parallel(calls.size(), threads, [&](std::size_t i) {
      ++calls[i];
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
    CHECK(calls == std::vector<int>(100, 1));
    CHECK(seen.size() <= static_cast<std::size_t>(threads));
  }
  for_each_parallel(0, 4, [](std::size_t) { CHECK(false); });
  CHECK(thread_count(3) == 3);
  CHECK(thread_count(0) >= 1);
}

TEST_CASE("the first of several exceptions comes out, and no call begins after one") {
  std::atomic<int> calls = 0;
  const auto fail = [&](std::size_t i) {
    ++calls;
    throw std::invalid_argument(std::to_string(i));
  };
  CHECK_THROWS_WITH(for_each_parallel(1000, 1, fail), "0");
  CHECK(calls == 1);
  CHECK_THROWS_WITH(for_each_parallel(1000, 3, fail), "0");
  CHECK(calls <= 1 + 3);
}

TEST_CASE("plans and tables don't depend on the number of threads") {
  for (std::uint32_t seed = 0; seed < test::share_of(3U, 3); ++seed) {
    const Network net =
        with_slow_native(algorithms::testing::random_network(5 + static_cast<HostId>(seed), seed));
    for (const Effort effort : {Effort::estimate, Effort::normal}) {
      PlanOptions one = openmpi(), four = openmpi();
      one.effort = four.effort = effort;
      one.threads = 1;
      four.threads = 4;
      CHECK(make_table(net, one_each(net.size()), collective::kinds, one, 100'000) ==
            make_table(net, one_each(net.size()), collective::kinds, four, 100'000));
      const Problem allreduce = problem(net, Kind::allreduce, 300'000);
      const Explanation by_one = explain(allreduce, one), by_four = explain(allreduce, four);
      CHECK(by_one.plan.skeleton == by_four.plan.skeleton);
      REQUIRE(by_one.candidates.size() == by_four.candidates.size());
      for (std::size_t i = 0; i < by_one.candidates.size(); ++i)
        CHECK(by_one.candidates[i].time() == by_four.candidates[i].time());
    }
  }
}

TEST_CASE("cancelled, planning by several threads makes no plan") {
  const Network net = with_slow_native(two_sites(4));
  const Problem allreduce = problem(net, Kind::allreduce, 300'000);
  std::atomic<int> asked = 0;
  PlanOptions options = openmpi();
  options.threads = 4;
  for (const int most : {1, 5, 20}) {
    options.is_cancelled = [&] { return ++asked >= most; };
    asked = 0;
    CHECK_THROWS_AS(explain(allreduce, options), Cancelled);
    asked = 0;
    CHECK_THROWS_AS(make_table(net, one_each(net.size()), collective::kinds, options, 100'000),
                    Cancelled);
  }
}

TEST_CASE("an end of the comparison near the bound costs at most what it may") {
  for (std::uint32_t seed = 0; seed < test::share_of(12U, 4); ++seed) {
    const Network net = algorithms::testing::random_network(4 + static_cast<HostId>(seed), seed);
    const Kind kind = collective::kinds[seed % 10];
    const Problem drawn = problem(net, kind, std::array<Size, 3>{500, 40'000, 3'000'000}[seed % 3]);
    PlanOptions options = openmpi();
    options.disabled = {"native"};
    const Plan early = plan(drawn, options);
    options.disabled.emplace_back("bound"); // Nothing is near it.
    CAPTURE(seed);
    CHECK(early.predicted.value() <= 1.005 * plan(drawn, options).predicted.value());
  }
}

} // namespace thalweg::planner
