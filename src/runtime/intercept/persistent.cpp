#include "runtime/intercept/persistent.hpp"

#include "runtime/intercept/helper_call.hpp"
#include "runtime/intercept/request_map.hpp"

#include <cstdint>

namespace thalweg::runtime {
namespace {

using Requests = RequestMap<std::shared_ptr<const PlannedCall>>;

/// Returns the planned persistent collectives.
Requests& planned_requests() {
  static auto* const requests = new Requests; // never destroyed: as the runtime
  return *requests;
}

/// Returns the tag of the message to itself that completes a request. It travels on a communicator
/// of all ranks, on which a rank sends itself nothing else with the tag of acknowledgements, which
/// are for others: one that travels on a duplicate of COMM_SELF doesn't count as progress in MPICH,
/// so that MPI_Wait in another thread doesn't return.
int completion_tag(const PlannedCall& planned) {
  return acknowledgement_tag(static_cast<int>(planned.lane));
}

/// Completes a started request; an error by a message that is too long, after the error handler of
/// MPI_COMM_WORLD: the program's communicator may be gone.
void complete(Runtime& runtime, int tag, int code) {
  const char byte = 0;
  if (code != MPI_SUCCESS) native.Comm_call_errhandler(native.comm_world, code);
  native.Send(&byte, code == MPI_SUCCESS ? 0 : 1, native.byte, runtime.world_rank, tag,
              runtime.helper_shadow);
}

void start_planned(Runtime& runtime, const std::shared_ptr<const PlannedCall>& planned) {
  CallRecord record(runtime, runtime.nonblocking_counters, planned->call);
  record.event.size = planned->arguments.size;
  record.event.ranks = static_cast<int>(planned->stream->ranks().size());
  record.plan(*planned->prepared);
  const int tag = completion_tag(*planned);
  const auto end = [&runtime, tag](int code) { complete(runtime, tag, code); };
  const int code = code_of([&] { execute(runtime, planned, record, end); });
  if (code != MPI_SUCCESS) end(code); // The program's wait for it tells the error.
}

/// How many planned collectives this thread has started.
thread_local std::uint64_t started_here = 0;

} // namespace

int make_persistent(const Call& call, MPI_Request* request, NativeCall make_natively) {
  const auto make = [request](Runtime& it, std::shared_ptr<const PlannedCall> planned,
                              const CallRecord& /*record*/) {
    check(native.Recv_init(nullptr, 0, native.byte, it.world_rank, completion_tag(*planned),
                           it.helper_shadow, request));
    planned_requests().add(*request, std::move(planned));
  };
  return plan_or_execute(call, request, &Stream::persistent_lane, make_natively, make);
}

int start_persistent(int count, const MPI_Request* started, NativeCall start_natively) {
  const std::uint64_t before = started_here;
  int code = start_natively();
  Runtime* const it = runtime;
  if (code != MPI_SUCCESS || it == nullptr || it->helper == nullptr) return code;
  if (started_here != before) return code; // A call inside this one has started them.
  for (int i = 0; i < count && code == MPI_SUCCESS; ++i)
    if (const auto planned = planned_requests().find(started[i])) {
      ++started_here;
      code = guarded(native.comm_world, [&] { start_planned(*it, *planned); });
    }
  return code;
}

void forget_persistent(MPI_Request request) { planned_requests().erase(request); }

void forget_persistent() { planned_requests().clear(); }

} // namespace thalweg::runtime
