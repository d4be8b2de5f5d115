#pragma once

#include "runtime/intercept/arguments.hpp"
#include "runtime/setup/runtime.hpp"

namespace thalweg::runtime {

/// Executes the call as planned, or natively. Returns the MPI function's result.
int execute(const Call& call, NativeCall execute_natively);

/// Does the same; a call that can only be native and only be counted costs much less.
/// @param make_call returns the Call: in the short way nothing of it is stored
/// @param forward executes the call natively
template <class MakeCall, class Forward>
int pass_or_execute(const MakeCall& make_call, const Forward& forward) {
  Runtime* const it = runtime.load(std::memory_order_acquire);
  if (it == nullptr) return forward();
  const Call call = make_call();
  if (it->only_counts)
    if (const Communicator* const communicator = it->communicators.find(call.comm);
        communicator != nullptr && communicator->passes())
      if (const auto size = plain_size(call))
        return it->counters.count_native(call.kind, *communicator->reason, *size, forward);
  const Call stored = make_call();
  return execute(stored, NativeCall(forward));
}

/// Ends what is open on a communicator that the program is about to free, as do all its members.
void leave(MPI_Comm comm);

} // namespace thalweg::runtime
