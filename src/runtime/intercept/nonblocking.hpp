#pragma once

#include "runtime/intercept/call.hpp"

namespace thalweg::runtime {

/// Starts a nonblocking collective as planned, carried out by the runtime's helper, or natively.
/// Returns the MPI function's result.
int start(const Call& call, MPI_Request* request, NativeCall start_natively);

/// Whether the program's freeing of an object must wait for operations in progress: they free it.
bool defer_type_free(MPI_Datatype type);
bool defer_op_free(MPI_Op op);

} // namespace thalweg::runtime
