#pragma once

#include "runtime/intercept/arguments.hpp"
#include "runtime/mpi/error.hpp"
#include "runtime/observe/core_time.hpp"
#include "runtime/setup/runtime.hpp"

#include <optional>
#include <vector>

namespace thalweg::runtime {

/// The event of a call, from its entry on.
class CallRecord {
public:
  /// @param counters to count it in the end
  CallRecord(Runtime& runtime, observe::Counters& counters, observe::Counted what);
  CallRecord(Runtime& runtime, observe::Counters& counters, const Call& call);
  /// Sets the communicator of the call.
  void set(const Communicator& communicator);
  void finish();
  /// Looks at the call's datatype, if anybody wants to know. The call must have succeeded.
  void look_at(const Call& call);
  /// Records how the call is executed.
  void plan(const Prepared& prepared);
  /// Returns the common part of the call's messages; empty unless they are traced. Requires that
  /// set() was called.
  /// @param world_ranks of the communicator, which must outlive the log
  [[nodiscard]] observe::TransferLog log(const std::vector<int>& world_ranks) const;

  observe::CallEvent event;
  PredictedTimes prediction;
  std::optional<Reason> reason; ///< why it is native, if it is
  std::uint64_t members = 0;    ///< Communicator::members
  observe::DatatypeClass datatype{};

private:
  /// Returns what the run record counts the finished call by.
  [[nodiscard]] observe::CallKey key() const;

  Runtime& _runtime;
  observe::Counters& _counters;
  observe::Counted _what;
  observe::CoreTime _begin; ///< of the thread that called
};

/// Does the same as code_of(), and passes errors to the error handler of the program's
/// communicator.
template <class Body>
int guarded(MPI_Comm comm, const Body& body) {
  const int code = code_of(body);
  if (code != MPI_SUCCESS) native.Comm_call_errhandler(comm, code);
  return code;
}

/// Sets a communicator up at its first call. Returns MPI_SUCCESS, or the code of an error, which
/// its error handler was told of: there is no memory.
/// @param added null for MPI_COMM_NULL, and if the communicator's ranks are threads: its calls are
/// native, and aren't recorded, since they come at once in programs without MPI_THREAD_MULTIPLE,
/// too
int add_communicator(Runtime& runtime, MPI_Comm comm, Communicator*& added);

/// Decides how a call on a communicator that is set up is executed, and says so as far as it is
/// wanted.
Chooser::Decision decide(Runtime& runtime, Communicator& communicator, const Arguments& arguments);

/// Says that a reduction wasn't reproducible, if that was wanted.
void report_native(Runtime& runtime, const Communicator& communicator, collective::Kind kind,
                   Reason reason);

} // namespace thalweg::runtime
