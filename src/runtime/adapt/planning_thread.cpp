#include "runtime/adapt/planning_thread.hpp"

#include "planner/bytes.hpp"
#include "runtime/execute/no_signals.hpp"
#include "runtime/execute/own_arithmetic.hpp"

#include <cstring>
#include <ctime>
#include <exception>
#include <sched.h>

namespace thalweg::runtime {
namespace {

/// Returns the processor time that this thread has taken.
std::int64_t taken_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

} // namespace

void PlanningThread::start(std::shared_ptr<const Observations> seen) {
  stop();
  _is_cancelled = false;
  _result = {};
  _has_failed = seen == nullptr;
  if (_has_failed) return;
  _answer = AttemptState::busy;
  try {
    const NoSignals none;
    _thread = std::thread([this, seen = std::move(seen)] { run(*seen); });
  } catch (const std::exception&) {
    _has_failed = true;
    _answer = AttemptState::nothing;
  }
}

void PlanningThread::run(const Observations& seen) {
  const OwnArithmetic arithmetic;
  // The rank may be bound to one core. No lower priority: ranks that spin while they wait would
  // leave the thread next to nothing, and what it takes is the same in the end.
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  sched_setaffinity(0, sizeof all, &all);
  std::int64_t answer = AttemptState::nothing;
  try {
    _result = replan(seen, _is_cancelled);
    if (_result.is_worth_it() && !_is_cancelled) {
      const auto made = planner::to_bytes(_result.table);
      _bytes.assign(reinterpret_cast<const char*>(made.data()), made.size());
      answer = static_cast<std::int64_t>(_bytes.size());
    }
  } catch (const std::exception&) {
    _has_failed = true;
    _result.changes.clear();
  }
  // The time is of this thread, which did nothing else.
  if (seen.purpose == Purpose::improvement) _improving_ns += taken_ns();
  _answer = answer;
}

void PlanningThread::stop() {
  _is_cancelled = true;
  if (_thread.joinable()) _thread.join();
  _answer = AttemptState::nothing;
}

std::int64_t PlanningThread::answer() const { return _answer; }

} // namespace thalweg::runtime
