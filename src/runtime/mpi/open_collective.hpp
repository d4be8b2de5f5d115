#pragma once

#include "runtime/mpi/error.hpp"
#include "runtime/mpi/native.hpp"
#include "runtime/mpi/open_since.hpp"

#include <utility>

namespace thalweg::runtime {

/// A native nonblocking collective on the program's communicator, which all ranks begin in the same
/// call and wait for as OpenSince says. There is one at a time: a native call fills request(), then
/// begin() notes that.
class OpenCollective : OpenSince {
public:
  OpenCollective() = default;
  OpenCollective(const OpenCollective&) = delete;
  OpenCollective& operator=(const OpenCollective&) = delete;

  using OpenSince::begin, OpenSince::is_late, OpenSince::is_open;
  [[nodiscard]] MPI_Request* request() { return &_request; }
  /// Waits for it; returns at once if none is open. Throws MpiError.
  void wait() { check(close_and_wait()); }
  /// Waits for it, whatever comes of it. No call may follow.
  void end() {
    if (is_open()) close_and_wait();
  }

private:
  /// Counts as closed before, and waits for a copy: while the communicator is freed, the MPI
  /// library may delete attributes as it waits, and with them the object that has this one, which
  /// then ends it again. During wait() the communicator isn't freed, since a call on it goes on.
  int close_and_wait() {
    close();
    MPI_Request request = std::exchange(_request, native.request_null);
    return native.Wait(&request, MPI_STATUS_IGNORE);
  }

  MPI_Request _request = native.request_null;
};

} // namespace thalweg::runtime
