#pragma once

#include <cstddef>
#include <functional>

namespace thalweg::planner {

/// Returns how many threads to use: `wanted`, or for 0 as many as this process may run at a time.
int thread_count(int wanted);

/// Calls body(i) once for each i below `count`, on up to `threads` threads, the caller's among
/// them; with one thread none is started. Calls begin in ascending order. If calls throw, the
/// exception of the one with the lowest i is rethrown when all calls that had begun are over.
void for_each_parallel(std::size_t count, int threads,
                       const std::function<void(std::size_t)>& body);

} // namespace thalweg::planner
