#pragma once

#include "runtime/mpi/native.hpp"

/// The program's accesses to other ranks' memory, counted by those who make them.
namespace thalweg::runtime {

/// The data of an access and whose memory it is.
struct Access {
  int target; ///< rank in the window
  MPI_Count count;
  MPI_Datatype type;
  MPI_Win window;
  bool writes, reads;
};

/// Counts an access that the MPI library has accepted, if there is a run record. Local.
void count_access(const Access& access);
/// Forgets a window that is about to be freed.
void forget_window(MPI_Win window);

} // namespace thalweg::runtime
