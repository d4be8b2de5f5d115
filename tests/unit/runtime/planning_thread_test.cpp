#include "runtime/adapt/planning_thread.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <doctest/doctest.h>
#include <memory>
#include <new>
#include <thread>

using namespace thalweg;
using runtime::Observations;
using runtime::PlanningThread;
using runtime::Replanning;

namespace {

const std::thread::id tester = std::this_thread::get_id();
/// Whether allocations of all threads but the tester's fail.
std::atomic<bool> has_no_memory = false;

void wait_for(const PlanningThread& thread) {
  while (thread.answer() == Replanning::busy)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Returns what was observed of two hosts: a shape that the table has no plan for is to be
/// improved.
std::shared_ptr<Observations> observed() {
  auto seen = std::make_shared<Observations>();
  seen->network = network::even_network(2, units::Time(1e-3), units::Rate(1e6));
  seen->placement = {0, 1};
  seen->hosts = {0, 1};
  seen->improves = true;
  return seen;
}

} // namespace

void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  if (has_no_memory && std::this_thread::get_id() != tester) return nullptr;
  return std::malloc(std::max<std::size_t>(size, 1));
}
void* operator new(std::size_t size) {
  if (void* const memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

TEST_CASE("without memory for what was observed nothing is planned") {
  PlanningThread thread;
  thread.start(nullptr);
  CHECK(thread.answer() == Replanning::nothing);
  CHECK(thread.has_failed());
}

TEST_CASE("without memory in the thread nothing is planned") {
  const auto seen = observed();
  seen->shape = {.key = {.kind = collective::Kind::bcast}, .size = 8};
  seen->table.placement = seen->placement;
  seen->table.entries.push_back({.kind = collective::Kind::bcast, .native = false, .skeleton = {}});
  PlanningThread thread;
  has_no_memory = true;
  thread.start(seen);
  wait_for(thread);
  has_no_memory = false;
  CHECK(thread.answer() == Replanning::nothing);
  CHECK(thread.has_failed());
}

TEST_CASE("planning that finds nothing hasn't failed") {
  const auto seen = observed();
  PlanningThread thread;
  thread.start(seen);
  wait_for(thread);
  CHECK(thread.answer() == Replanning::nothing);
  CHECK_FALSE(thread.has_failed());
}

TEST_CASE("it is counted what improvements take, and only these") {
  const auto seen = observed();
  PlanningThread thread;
  const auto plan = [&](bool improves) {
    seen->improves = improves;
    thread.start(seen);
    wait_for(thread);
    return thread.improving_ns();
  };
  CHECK(plan(false) == 0);
  const std::int64_t once = plan(true);
  CHECK(once > 0);
  CHECK(plan(false) == once);
  CHECK(plan(true) > once);
}
