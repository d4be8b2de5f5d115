#pragma once

#include <vector>

/// Which core a thread runs on, and before whom.
namespace thalweg::lab {

/// The cores this process may use. @throws std::runtime_error if there is only one
std::vector<int> usable_cores();

/// Keeps the calling thread to some cores.
void keep_to(const std::vector<int>& cores);

/// Gives the calling thread a real-time priority on a core.
void become_real_time(int core, int priority);

/// Takes the calling thread away from the switch's core and priority, which threads begin with.
void become_ordinary(int core);

} // namespace thalweg::lab
