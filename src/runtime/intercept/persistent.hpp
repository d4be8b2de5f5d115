#pragma once

#include "runtime/intercept/call.hpp"

/// Persistent collectives, where the helper carries them out: their MPI_Request is a persistent
/// receive of an empty message, which the helper sends when the operation is complete. So the MPI
/// library starts it, waits for it and frees it as any other.
namespace thalweg::runtime {

/// Makes a persistent collective as planned, or natively. Returns the MPI function's result.
int make_persistent(const Call& call, MPI_Request* request, NativeCall make_natively);

/// Starts requests, among them persistent collectives. Returns the MPI function's result. One call
/// may come inside another: a tool below calls PMPI_Start in place of the MPI library's MPI_Start.
int start_persistent(int count, const MPI_Request* requests, NativeCall start_natively);

/// Called when the program frees a request.
void forget_persistent(MPI_Request request);
/// Forgets all of them, in MPI_Finalize; no call may follow.
void forget_persistent();

} // namespace thalweg::runtime
