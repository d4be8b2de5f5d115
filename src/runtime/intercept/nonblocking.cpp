#include "runtime/intercept/nonblocking.hpp"

#include "runtime/intercept/helper_call.hpp"

#include <atomic>

namespace thalweg::runtime {
namespace {

/// A generalized request, which the MPI library completes and frees as any other: the program's
/// MPI_Wait and its kin aren't intercepted. It outlives its operation.
class Ticket {
public:
  /// Makes the request. @throws MpiError
  static Ticket* make(MPI_Request* request) {
    auto made = std::make_unique<Ticket>();
    check(native.Grequest_start(query, free, cancel, made.get(), request));
    return made.release();
  }
  std::atomic<int> code{MPI_SUCCESS}; ///< of the operation

private:
  static int query(void* ticket, MPI_Status* status) {
    native.Status_set_elements(status, native.byte, 0);
    native.Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    return static_cast<Ticket*>(ticket)->code;
  }
  static int free(void* ticket) {
    delete static_cast<Ticket*>(ticket);
    return MPI_SUCCESS;
  }
  /// Collectives can't be cancelled.
  static int cancel(void* /*ticket*/, int /*complete*/) { return MPI_ERR_REQUEST; }
};

} // namespace

int start(const Call& call, MPI_Request* request, NativeCall start_natively) {
  const auto make = [request](Runtime& it, std::shared_ptr<const PlannedCall> planned,
                              const CallRecord& record) {
    const auto complete = [ticket = Ticket::make(request), made = *request](int result) {
      ticket->code = result;
      native.Grequest_complete(made); // from here on the ticket may be gone
    };
    const int code = code_of([&] { execute(it, std::move(planned), record, complete); });
    if (code != MPI_SUCCESS) complete(code); // The program's wait for it tells the error.
  };
  return plan_or_execute(call, request, &Stream::next_lane, start_natively, make);
}

bool defer_type_free(MPI_Datatype type) {
  Runtime* const it = runtime;
  return it != nullptr && it->helper != nullptr && it->held_types.defer(type);
}

bool defer_op_free(MPI_Op op) {
  Runtime* const it = runtime;
  return it != nullptr && it->helper != nullptr && it->held_ops.defer(op);
}

} // namespace thalweg::runtime
