#include "lab/rotation.hpp"

#include "lab/clock.hpp"
#include "lab/cores.hpp"

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
  become_real_time(core, priority);
  // Waking up is enough: the interrupted task has used up its time slice (host_init.cpp) by then.
  while (!_stopped)
    std::this_thread::sleep_for(now() - _last < idle_after ? std::chrono::nanoseconds(turn)
                                                           : std::chrono::nanoseconds(idle_turn));
}

} // namespace thalweg::lab
