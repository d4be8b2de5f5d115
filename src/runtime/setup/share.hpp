#pragma once

#include "runtime/mpi/native.hpp"

#include <string>

namespace thalweg::runtime {

/// Gives all ranks of `comm` the bytes that its rank 0 has, by native broadcasts. Collective.
void share(std::string& bytes, MPI_Comm comm);

} // namespace thalweg::runtime
