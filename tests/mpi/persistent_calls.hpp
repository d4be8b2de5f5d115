#pragma once

#include <mpi.h>

#if MPI_VERSION >= 4
#define THALWEG_PERSISTENT(name) MPI_##name##_init
#elif defined(OPEN_MPI)
#include <dlfcn.h>
#include <mpi-ext.h>
#include <string>

/// Persistent collectives: THALWEG_PERSISTENT(Bcast) is MPI_Bcast_init, or what Open MPI has
/// instead. Version 4.1 has MPIX_ functions and 5.0 has MPI_ functions; programs that are compiled
/// with 4.1's headers run with both here.
#define THALWEG_PERSISTENT(name)                                                                   \
  ::thalweg::test::find_persistent<decltype(&MPIX_##name##_init)>(#name "_init")

namespace thalweg::test {

template <class Function>
Function find_persistent(const std::string& name) {
  // A search in the library itself, since the preloaded one has both names.
  void* const library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_NOLOAD);
  const bool is_extension = dlsym(library, ("MPIX_" + name).c_str()) != nullptr;
  dlclose(library);
  return reinterpret_cast<Function>(
      dlsym(RTLD_DEFAULT, ((is_extension ? "MPIX_" : "MPI_") + name).c_str()));
}

} // namespace thalweg::test
#endif
