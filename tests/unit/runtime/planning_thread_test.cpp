#include "runtime/adapt/planning_thread.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <doctest/doctest.h>
#include <memory>
#include <new>
#include <thread>
#include <vector>

using namespace thalweg;
using runtime::AttemptState;
using runtime::Observations;
using runtime::PlanningThread;
using runtime::Purpose;

namespace {

const std::thread::id tester = std::this_thread::get_id();
/// Whether allocations of all threads but the tester's fail.
std::atomic<bool> has_no_memory = false;
/// Allocations of all threads but the tester's, which tell how much of a plan was made.
std::atomic<std::int64_t> allocations = 0;
/// What the first of these cancels; null: nothing.
std::atomic<PlanningThread*> to_cancel = nullptr;

void wait_for(const PlanningThread& thread) {
  while (thread.answer() == AttemptState::busy)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Returns what was observed of some hosts: a shape that the table has no plan for is to be
/// improved.
std::shared_ptr<Observations> observed(network::HostId hosts = 2) {
  auto seen = std::make_shared<Observations>();
  seen->network = network::even_network(hosts, units::Time(1e-3), units::Rate(1e6));
  for (network::HostId host = 0; host < hosts; ++host) {
    seen->placement.push_back(host);
    seen->hosts.push_back(host);
  }
  seen->purpose = Purpose::improvement;
  return seen;
}

} // namespace

// Inlined apart from each other, new and delete would seem to compilers not to belong together.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  if (std::this_thread::get_id() != tester) {
    ++allocations;
    if (PlanningThread* const thread = to_cancel.exchange(nullptr)) thread->cancel();
    if (has_no_memory) return nullptr;
  }
  return std::malloc(std::max<std::size_t>(size, 1));
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* const memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

TEST_CASE("without memory for what was observed nothing is planned") {
  PlanningThread thread;
  thread.start(nullptr);
  CHECK(thread.answer() == AttemptState::nothing);
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
  CHECK(thread.answer() == AttemptState::nothing);
  CHECK(thread.has_failed());
}

TEST_CASE("planning that finds nothing hasn't failed") {
  const auto seen = observed();
  PlanningThread thread;
  thread.start(seen);
  wait_for(thread);
  CHECK(thread.answer() == AttemptState::nothing);
  CHECK_FALSE(thread.has_failed());
}

TEST_CASE("the planner is cancelled, too, long before it has a plan") {
  const auto seen = observed(4);
  constexpr units::Size size = 100'000;
  const std::vector kinds = {collective::Kind::allreduce};
  planner::PlanOptions options;
  options.disabled = {"native"};
  options.effort = planner::Effort::estimate;
  options.threads = 1;
  seen->table = planner::make_table(seen->network, seen->placement, kinds, options, size);
  seen->shape = {.key = runtime::key_of(kinds.front(), 0, size), .size = size};
  PlanningThread thread;
  const auto allocated = [&](PlanningThread* cancelled) {
    allocations = 0;
    to_cancel = cancelled;
    thread.start(seen);
    wait_for(thread);
    return allocations.load();
  };
  const std::int64_t whole = allocated(nullptr);
  CHECK(10 * allocated(&thread) < whole);
  CHECK(thread.answer() == AttemptState::nothing);
  CHECK_FALSE(thread.has_failed());
  CHECK(thread.take_result().network.hosts.empty());
}

TEST_CASE("it is counted what improvements take, and only these") {
  const auto seen = observed();
  PlanningThread thread;
  const auto plan = [&](Purpose purpose) {
    seen->purpose = purpose;
    thread.start(seen);
    wait_for(thread);
    return thread.improving_ns();
  };
  CHECK(plan(Purpose::drift) == 0);
  const std::int64_t once = plan(Purpose::improvement);
  CHECK(once > 0);
  CHECK(plan(Purpose::drift) == once);
  CHECK(plan(Purpose::improvement) > once);
}
