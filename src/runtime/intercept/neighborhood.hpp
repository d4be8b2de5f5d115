#pragma once

#include "collective/neighborhood.hpp"
#include "runtime/intercept/call.hpp"

namespace thalweg::runtime {

/// A call of a neighbourhood's collective, as the program made it.
struct NeighborhoodCall {
  collective::Neighborhood neighborhood{};
  MPI_Comm comm{};
  Side send = {}, receive = {}; ///< an allgather sends one block, all else has one per neighbour
};

/// Executes the call as planned, or natively. Returns the MPI function's result.
int execute(const NeighborhoodCall& call, NativeCall execute_natively);

/// Starts its nonblocking form natively. Counts it where calls of such forms may be planned.
int start(const NeighborhoodCall& call, NativeCall start_natively);

/// Makes its persistent form natively. Counts it alike, but not what its starts will send.
int make_persistent(const NeighborhoodCall& call, NativeCall make_natively);

} // namespace thalweg::runtime
