#include "lab/cores.hpp"

#include "lab/descriptor.hpp"

#include <sched.h>
#include <stdexcept>

namespace thalweg::lab {

std::vector<int> usable_cores() {
  cpu_set_t set;
  check(sched_getaffinity(0, sizeof set, &set), "sched_getaffinity");
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  if (cores.size() < 2)
    throw std::runtime_error("a lab needs two processor cores, one of them for the switch alone");
  return cores;
}

void keep_to(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const auto core : cores)
    CPU_SET(static_cast<std::size_t>(core), &set);
  check(sched_setaffinity(0, sizeof set, &set), "sched_setaffinity");
}

void become_real_time(int core, int priority) {
  keep_to({core});
  sched_param parameters{};
  parameters.sched_priority = priority;
  check(sched_setscheduler(0, SCHED_FIFO, &parameters), "real-time priority");
}

void become_ordinary(int core) {
  keep_to({core});
  const sched_param parameters{};
  check(sched_setscheduler(0, SCHED_OTHER, &parameters), "ordinary priority");
}

} // namespace thalweg::lab
