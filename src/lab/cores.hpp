#pragma once

#include <vector>

/// Cores and priorities of threads.
namespace thalweg::lab {

/// Returns the cores that this process may use. @throws std::runtime_error if there is only one
std::vector<int> usable_cores();

/// Restricts the calling thread to some cores.
void keep_to(const std::vector<int>& cores);

/// Gives the calling thread a real-time priority on a core.
void become_real_time(int core, int priority);

/// Moves the calling thread off the switch's core and priority, which new threads inherit.
void become_ordinary(int core);

} // namespace thalweg::lab
