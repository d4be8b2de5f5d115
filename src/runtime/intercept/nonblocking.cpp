#include "runtime/intercept/nonblocking.hpp"

#include "runtime/intercept/guard.hpp"
#include "runtime/intercept/record.hpp"
#include "runtime/intercept/transaction.hpp"

#include <atomic>
#include <utility>

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

/// Keeps the types and the operation that a call uses.
class Held {
public:
  Held(Runtime& runtime, const Call& call, const Arguments& arguments) : _runtime(runtime) {
    for (const Blocks* blocks : {&arguments.send, &arguments.receive})
      if (blocks->count > 0) _types.push_back(blocks->side.type);
    for (const MPI_Datatype type : _types)
      _runtime.held_types.hold(type);
    _has_op = arguments.combines && call.kind != collective::Kind::barrier;
    _op = call.op;
    if (_has_op) _runtime.held_ops.hold(_op);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    for (MPI_Datatype& type : _types)
      if (_runtime.held_types.release(type)) native.Type_free(&type);
    if (_has_op && _runtime.held_ops.release(_op)) native.Op_free(&_op);
  }

private:
  Runtime& _runtime;
  std::vector<MPI_Datatype> _types;
  MPI_Op _op{};
  bool _has_op = false;
};

/// A planned nonblocking collective. It refers neither to the program's communicator nor to its
/// state here, since the program may free the communicator before.
class Collective final : public Operation {
public:
  Collective(Runtime& runtime, const Communicator& communicator, const Call& call,
             Arguments arguments, std::shared_ptr<const Prepared> prepared,
             const CallRecord& record)
      : _runtime(runtime), _call(call), _arguments(std::move(arguments)),
        _prepared(std::move(prepared)), _stream(communicator.stream), _lane(_stream->next_lane()),
        _record(record) {
    _held.emplace(runtime, _call, _arguments);
  }
  [[nodiscard]] Helper::Lane lane() const { return _lane; }
  /// Returns the program's request.
  MPI_Request make_request() {
    _ticket = Ticket::make(&_request);
    return _request;
  }

  Progress advance() override {
    Guard guard; // so that nothing called from here is taken for the program's
    Progress progress = Progress::done;
    const int code = code_of([&] { progress = go_on(); });
    if (progress == Progress::done || code != MPI_SUCCESS) finish(code);
    guard.leave();
    return code != MPI_SUCCESS ? Progress::done : progress;
  }

private:
  Progress go_on() {
    if (_transaction) return _transaction->advance();
    MpiTransport::Setup setup;
    setup.comm = _runtime.helper_shadow;
    setup.tag = data_tag(static_cast<int>(_lane));
    setup.accounts = &_stream->accounts(_lane);
    setup.ranks = _stream->ranks().data();
    Task task;
    task.window = _record.event.window;
    task.log = _record.log(_stream->ranks());
    _transaction.emplace(_call, _arguments, *_prepared, setup);
    _transaction->start(task);
    return Progress::some;
  }
  void finish(int code) {
    _transaction.reset();
    _held.reset();
    _record.finish(std::nullopt);
    _ticket->code = code;
    native.Grequest_complete(_request); // from here on the ticket may be gone
  }

  Runtime& _runtime;
  Call _call;
  Arguments _arguments;
  std::shared_ptr<const Prepared> _prepared;
  std::shared_ptr<Stream> _stream;
  Helper::Lane _lane;
  CallRecord _record;
  std::optional<Held> _held;
  std::optional<Transaction> _transaction; ///< once it has begun
  MPI_Request _request{};
  Ticket* _ticket = nullptr; ///< owned by the request
};

/// Returns why all calls on the communicator are native, if they are. @param communicator may be
/// null: not used so far
std::optional<Reason> reason_of(const Communicator* communicator) {
  if (communicator == nullptr) return Reason::not_set_up;
  if (communicator->negotiation != nullptr && !communicator->negotiation->done())
    return Reason::not_set_up;
  if (!communicator->reason && communicator->stream == nullptr) return Reason::tags_exhausted;
  return communicator->reason;
}

} // namespace

int start(const Call& call, MPI_Request* request, NativeCall start_natively) {
  Runtime* const it = runtime;
  if (it == nullptr || it->helper == nullptr || request == nullptr) return start_natively();
  CallRecord record(*it, it->nonblocking_counters, call);
  Communicator* const communicator = it->communicators.find(call.comm);
  if (communicator != nullptr) {
    record.event.sequence = communicator->calls++;
    record.set(*communicator);
  }
  Chooser::Decision choice{.reason = reason_of(communicator)};
  if (!choice.reason) {
    const int code = guarded(call.comm, [&] {
      Arguments arguments = examine(call, *communicator, *it);
      record.event.size = arguments.size;
      choice = decide(*it, *communicator, arguments);
      if (choice.prepared == nullptr) return;
      record.plan(*choice.prepared);
      auto operation = std::make_unique<Collective>(*it, *communicator, call, std::move(arguments),
                                                    choice.prepared, record);
      *request = operation->make_request();
      const Helper::Lane lane = operation->lane();
      it->helper->add(lane, std::move(operation));
    });
    if (code != MPI_SUCCESS || choice.prepared != nullptr) return code;
  }
  const int code = start_natively();
  record.finish(choice.reason);
  if (communicator != nullptr) report_native(*it, *communicator, call.kind, *choice.reason);
  return code;
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
