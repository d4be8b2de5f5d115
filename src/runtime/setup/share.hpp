#pragma once

#include "runtime/mpi/native.hpp"

#include <string>

namespace thalweg::runtime {

/// Gives all ranks of `comm` the bytes that its rank 0 has, by native broadcasts. Collective.
void share(std::string& bytes, MPI_Comm comm);

/// Does the same, for ranks that don't know whether all others call this: returns whether all have
/// within `seconds`. It reduces what ranks other than 0 have nothing of, so that nobody returns
/// true before all have called. Else the reduction stays open. Collective, once in a process.
bool share_within(double seconds, std::string& bytes, MPI_Comm comm);

} // namespace thalweg::runtime
