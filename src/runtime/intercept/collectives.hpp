#pragma once

#include "runtime/intercept/arguments.hpp"
#include "runtime/setup/runtime.hpp"

namespace thalweg::runtime {

/// Executes the call as planned, or natively. Returns the MPI function's result.
int execute(const Call& call, NativeCall execute_natively);

/// Executes a call as execute() does. The arguments are copied here, so that the short way of
/// pass_or_execute() needs no memory for them.
template <class MakeCall, class Forward>
[[gnu::noinline]] int execute_copy(const MakeCall make_call, const Forward forward) {
  return execute(make_call(), NativeCall(forward));
}

/// Does the same; a call that can only be native and only be counted costs much less.
/// @param make_call returns the Call, @param forward executes it natively; both own what they need
template <class MakeCall, class Forward>
int pass_or_execute(MPI_Comm comm, const MakeCall& make_call, const Forward& forward) {
  Runtime* const it = runtime.load(std::memory_order_acquire);
  if (it == nullptr) return forward();
  if (it->only_counts)
    if (const Communicator* const communicator = it->communicators.find(comm);
        communicator != nullptr && communicator->passes()) {
      const Call call = make_call();
      if (const auto size = plain_size(call))
        return it->counters.count_native(call.kind, *communicator->reason, *size, forward);
    }
  return execute_copy(make_call, forward);
}

/// Ends what is open on a communicator that the program is about to free, as do all its members.
void leave(MPI_Comm comm);

} // namespace thalweg::runtime
