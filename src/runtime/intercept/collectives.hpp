#pragma once

#include "runtime/intercept/native.hpp"

namespace thalweg::runtime {

struct BcastCall {
  void* buffer;
  MPI_Count count;
  MPI_Datatype type;
  int root;
  MPI_Comm comm;
};

struct ReduceCall {
  const void* send;
  void* receive; ///< of the root only
  MPI_Count count;
  MPI_Datatype type;
  MPI_Op op;
  int root;
  MPI_Comm comm;
};

struct AllreduceCall {
  const void* send;
  void* receive;
  MPI_Count count;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
};

/// The MPI library's own execution of an intercepted call. A reference to a callable that must live
/// on.
class NativeCall {
public:
  template <class F>
  explicit NativeCall(const F& f)
      : _call([](const void* target) { return (*static_cast<const F*>(target))(); }), _target(&f) {}
  int operator()() const { return _call(_target); }

private:
  int (*_call)(const void*);
  const void* _target;
};

/// Executes the call as planned, or natively. Returns what the MPI function returns.
int bcast(const BcastCall& call, NativeCall execute_natively);
int reduce(const ReduceCall& call, NativeCall execute_natively);
int allreduce(const AllreduceCall& call, NativeCall execute_natively);

/// Sets up a communicator that the program has just made, as do all its members.
void set_up(MPI_Comm comm);

} // namespace thalweg::runtime
