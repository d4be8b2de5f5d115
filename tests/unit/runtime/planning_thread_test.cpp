#include "runtime/adapt/planning_thread.hpp"

#include <chrono>
#include <doctest/doctest.h>
#include <memory>
#include <thread>

using namespace thalweg;
using runtime::Observations;
using runtime::PlanningThread;
using runtime::Replanning;

namespace {

void wait_for(const PlanningThread& thread) {
  while (thread.answer() == Replanning::busy)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

} // namespace

TEST_CASE("without memory for what was observed nothing is planned") {
  PlanningThread thread;
  thread.start(nullptr);
  CHECK(thread.answer() == Replanning::nothing);
  CHECK(thread.has_failed());
}

TEST_CASE("an exception in the thread ends planning, not the program") {
  auto seen = std::make_shared<Observations>();
  seen->network = network::even_network(2, units::Time(1e-3), units::Rate(1e6));
  seen->placement = {0, 1};
  seen->hosts = {0, 1};
  seen->improves = true;
  seen->shape = {.key = {.kind = collective::Kind::bcast, .root = 7}, .size = 8};
  seen->table.placement = seen->placement;
  seen->table.entries.push_back(
      {.kind = collective::Kind::bcast, .root = 7, .native = false, .skeleton = {}});
  PlanningThread thread;
  thread.start(seen);
  wait_for(thread);
  CHECK(thread.answer() == Replanning::nothing);
  CHECK(thread.has_failed());
  thread.start(nullptr);
  CHECK(thread.has_failed());
}

TEST_CASE("planning that finds nothing hasn't failed") {
  auto seen = std::make_shared<Observations>();
  seen->network = network::even_network(2, units::Time(1e-3), units::Rate(1e6));
  seen->placement = {0, 1};
  seen->hosts = {0, 1};
  seen->improves = true; // a shape that the table has no plan for
  PlanningThread thread;
  thread.start(seen);
  wait_for(thread);
  CHECK(thread.answer() == Replanning::nothing);
  CHECK_FALSE(thread.has_failed());
}
