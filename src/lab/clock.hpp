#pragma once

#include "lab/fabric.hpp"

#include <ctime>

namespace thalweg::lab {

inline Instant now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<Instant>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

} // namespace thalweg::lab
