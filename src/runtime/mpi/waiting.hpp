#pragma once

#include "runtime/mpi/native.hpp"
#include "runtime/observe/clock.hpp"

#include <limits>
#include <sched.h>

namespace thalweg::runtime {

/// Returns what observe::monotonic_ns() will be after `seconds`.
inline std::int64_t end_ns_after(double seconds) {
  return observe::monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
}

/// Waits until the request is complete, but not longer than until `end_ns` of
/// observe::monotonic_ns(). Yields meanwhile, since ranks may outnumber the cores. Simulated, it
/// waits in the MPI library, however long. Returns whether the request is complete without an
/// error.
inline bool await(MPI_Request& request, MPI_Status* status,
                  std::int64_t end_ns = std::numeric_limits<std::int64_t>::max()) {
  if constexpr (is_simulated) return native.Wait(&request, status) == MPI_SUCCESS;
  for (int done = 0;; sched_yield()) {
    if (native.Test(&request, &done, status) != MPI_SUCCESS) return false;
    if (done != 0) return true;
    if (observe::monotonic_ns() > end_ns) return false;
  }
}

} // namespace thalweg::runtime
