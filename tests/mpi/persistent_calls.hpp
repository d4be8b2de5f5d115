#pragma once

#include <mpi.h>

#if MPI_VERSION >= 4
#define THALWEG_PERSISTENT(name) MPI_##name##_init
#elif defined(OPEN_MPI)
#include "check.hpp"

#include <mpi-ext.h>

/// Persistent collectives: THALWEG_PERSISTENT(Bcast) is MPI_Bcast_init, or what Open MPI has
/// instead. Version 4.1 has MPIX_ functions and 5.0 has MPI_ functions; programs that are compiled
/// with 4.1's headers run with both here.
#define THALWEG_PERSISTENT(name)                                                                   \
  ::thalweg::test::find_persistent<decltype(&MPIX_##name##_init)>(#name "_init")

namespace thalweg::test {

template <class Function>
Function find_persistent(const std::string& name) {
  const std::string prefix = library_has("MPIX_" + name) ? "MPIX_" : "MPI_";
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, (prefix + name).c_str()));
}

} // namespace thalweg::test
#endif
