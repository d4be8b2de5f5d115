#pragma once

#include "runtime/mpi/native.hpp"

namespace thalweg::runtime {

/// An MPI function returned this; the communicator's error handler was not called.
struct MpiError {
  int code;
};

/// @throws MpiError unless the code is MPI_SUCCESS
inline void check(int code) {
  if (code != MPI_SUCCESS) throw MpiError{code};
}

} // namespace thalweg::runtime
