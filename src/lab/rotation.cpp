#include "lab/rotation.hpp"

#include "lab/clock.hpp"
#include "lab/descriptor.hpp"

#include <sched.h>

namespace thalweg::lab {
namespace {

constexpr auto turn = std::chrono::microseconds(100);
constexpr auto idle_turn = std::chrono::milliseconds(20);
constexpr Instant idle_after = 2'000'000'000;
constexpr int priority = 10; // any real-time priority: ranks have none

} // namespace

Rotation::Rotation(const std::vector<int>& cores) {
  for (const auto core : cores)
    _threads.emplace_back([this, core] { interrupt(core); });
}

Rotation::~Rotation() {
  _stopped = true;
  for (auto& thread : _threads)
    thread.join();
}

void Rotation::interrupt(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  check(sched_setaffinity(0, sizeof set, &set), "sched_setaffinity");
  sched_param parameters{};
  parameters.sched_priority = priority;
  check(sched_setscheduler(0, SCHED_FIFO, &parameters), "real-time priority");
  // To wake up is all: the task it interrupted has used up its time slice (host_init.cpp) by then.
  while (!_stopped)
    std::this_thread::sleep_for(now() - _last < idle_after ? std::chrono::nanoseconds(turn)
                                                           : std::chrono::nanoseconds(idle_turn));
}

} // namespace thalweg::lab
