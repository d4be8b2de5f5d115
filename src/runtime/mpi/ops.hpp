#pragma once

#include "runtime/mpi/native.hpp"

namespace thalweg::runtime {

/// Whether reductions with `op` over `type` may be planned: valid as the MPI library sees it, and
/// commutative. `self`: a communicator of one rank where errors return, to ask the library.
/// Thread-safe.
bool may_reduce(MPI_Op op, MPI_Datatype type, bool predefined_type, MPI_Comm self);

} // namespace thalweg::runtime
