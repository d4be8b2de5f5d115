#pragma once

#include "runtime/intercept/call.hpp"

namespace thalweg::runtime {

/// Executes the call as planned, or natively. Returns the MPI function's result.
int execute(const Call& call, NativeCall execute_natively);

/// Sets up a communicator that the program has just made, as do all its members.
void set_up(MPI_Comm comm);

} // namespace thalweg::runtime
