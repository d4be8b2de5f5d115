#pragma once

#include "runtime/mpi/native.hpp"

namespace thalweg::runtime {

/// Whether the MPI library goes on when processes die, and lets the program revoke and shrink
/// communicators (ULFM): Open MPI 5 with `mpirun --with-ft ulfm`. What other libraries do isn't
/// known. Local. @param world COMM_WORLD, which alone tells it
bool tolerates_faults(MPI_Comm world);

} // namespace thalweg::runtime
