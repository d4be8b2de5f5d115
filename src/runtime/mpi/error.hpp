#pragma once

#include "runtime/mpi/native.hpp"

#include <exception>
#include <new>

namespace thalweg::runtime {

/// An MPI function returned this; the communicator's error handler was not called.
struct MpiError {
  int code;
};

/// @throws MpiError unless the code is MPI_SUCCESS
inline void check(int code) {
  if (code != MPI_SUCCESS) throw MpiError{code};
}

/// Calls `body` and returns MPI_SUCCESS, or the code of its error. No exception passes through the
/// MPI library: its callbacks and what programs call return codes.
template <class Body>
int code_of(const Body& body) {
  try {
    body();
    return MPI_SUCCESS;
  } catch (const MpiError& error) {
    return error.code;
  } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  } catch (const std::exception&) { // a length beyond any memory
    return MPI_ERR_OTHER;
  }
}

} // namespace thalweg::runtime
