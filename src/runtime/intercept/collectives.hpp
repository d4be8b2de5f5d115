#pragma once

#include "runtime/intercept/call.hpp"

namespace thalweg::runtime {

/// Executes the call as planned, or natively. Returns the MPI function's result.
int execute(const Call& call, NativeCall execute_natively);

/// Ends what is open on a communicator that the program is about to free, as do all its members.
void leave(MPI_Comm comm);

} // namespace thalweg::runtime
