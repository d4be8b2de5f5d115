#include "runtime/intercept/helper_call.hpp"

#include "runtime/intercept/guard.hpp"

#include <utility>

namespace thalweg::runtime {
namespace {

/// Returns why all calls on the communicator are native, if they are. @param communicator may be
/// null
std::optional<Reason> reason_of(const Communicator* communicator) {
  if (communicator == nullptr) return Reason::not_set_up;
  if (communicator->negotiation != nullptr && !communicator->negotiation->done())
    return Reason::not_set_up;
  if (!communicator->reason && communicator->stream == nullptr) return Reason::tags_exhausted;
  return communicator->reason;
}

/// Open MPI's Fortran interface keeps the types that it made of an alltoallw's in the request,
/// which it takes for one of its own collectives.
#if defined(OPEN_MPI)
constexpr bool keeps_types_in_request = true;
#else
constexpr bool keeps_types_in_request = false;
#endif

/// Returns the call as planned, or null if it is native for the reason that `record` then has.
/// Thrown are MpiError and std::bad_alloc.
/// @param communicator null: not used so far
std::shared_ptr<const PlannedCall> plan_call(Runtime& runtime, Communicator* communicator,
                                             const Call& call, TakeLane take_lane,
                                             CallRecord& record) {
  if ((record.reason = reason_of(communicator))) return nullptr;
  if (keeps_types_in_request && call.receive.types != nullptr) {
    record.reason = Reason::not_planned;
    return nullptr;
  }
  auto planned = std::make_shared<PlannedCall>();
  planned->call = call;
  planned->arguments = examine(call, *communicator, runtime);
  record.event.size = planned->arguments.size;
  const Chooser::Decision choice = decide(runtime, *communicator, planned->arguments);
  if ((record.reason = choice.reason)) return nullptr;
  planned->prepared = choice.prepared;
  planned->stream = communicator->stream;
  const auto lane = (*planned->stream.*take_lane)();
  if (!lane) {
    record.reason = Reason::tags_exhausted;
    return nullptr;
  }
  planned->lane = *lane;
  planned->held.emplace(runtime, call, planned->arguments);
  record.plan(*planned->prepared);
  record.look_at(call);
  return planned;
}

template <class Handle>
void free_as_often(std::int64_t times, Handle handle, int (*free)(Handle*)) {
  for (; times > 0; --times) {
    Handle freed = handle;
    free(&freed);
  }
}

} // namespace

void Held::Arrays::copy(Blocks& blocks) {
  const auto copy = [&](Numbers& numbers, std::vector<std::int64_t>& copied) {
    if (!numbers) return;
    for (Rank i = 0; i < blocks.count; ++i)
      copied.push_back(numbers[i]);
    numbers = Numbers(copied.data());
  };
  copy(blocks.side.counts, counts);
  copy(blocks.side.displacements, displacements);
  if (blocks.side.types == nullptr) return;
  types.assign(blocks.side.types, blocks.side.types + blocks.count);
  blocks.side.types = types.data();
}

Held::Held(Runtime& runtime, const Call& call, Arguments& arguments) : _runtime(runtime) {
  _send.copy(arguments.send);
  _receive.copy(arguments.receive);
  for (const Blocks* blocks : {&arguments.send, &arguments.receive})
    if (blocks->side.types == nullptr) {
      if (blocks->count > 0) _types.push_back(blocks->side.type);
    } else {
      for (Rank i = 0; i < blocks->count; ++i)
        if (blocks->elements(i) > 0) _types.push_back(blocks->type_of(i));
    }
  for (const MPI_Datatype type : _types)
    _runtime.held_types.hold(type);
  _has_op = arguments.combines && call.kind != collective::Kind::barrier;
  _op = call.op;
  if (_has_op) _runtime.held_ops.hold(_op);
}

Held::~Held() {
  for (const MPI_Datatype type : _types)
    free_as_often(_runtime.held_types.release(type), type, native.Type_free);
  if (_has_op) free_as_often(_runtime.held_ops.release(_op), _op, native.Op_free);
}

int plan_or_execute(const Call& call, const MPI_Request* request, TakeLane take_lane,
                    NativeCall execute_natively, const MakeRequest& make_request) {
  Runtime* const it = runtime;
  if (it == nullptr || it->helper == nullptr || request == nullptr) return execute_natively();
  CallRecord record(*it, it->nonblocking_counters, call);
  Communicator* const communicator = it->communicators.find(call.comm);
  if (communicator != nullptr) {
    record.event.sequence = communicator->calls++;
    record.set(*communicator);
  }
  int code = guarded(call.comm, [&] {
    if (auto planned = plan_call(*it, communicator, call, take_lane, record))
      make_request(*it, std::move(planned), record);
  });
  if (code != MPI_SUCCESS || !record.reason) return code;
  code = execute_natively();
  if (code == MPI_SUCCESS) record.look_at(call);
  record.finish();
  if (communicator != nullptr) report_native(*it, *communicator, call.kind, *record.reason);
  return code;
}

Progress HelperCall::advance() {
  Guard guard; // so that nothing called from here is taken for the program's
  Progress progress = Progress::done;
  const int code = code_of([&] {
    std::optional<ProgramArithmetic::Scope> scope;
    if (_arithmetic) scope.emplace(*_arithmetic);
    progress = go_on();
  });
  if (code != MPI_SUCCESS) progress = Progress::done;
  if (progress == Progress::done) finish(code);
  guard.leave();
  return progress;
}

Progress HelperCall::go_on() {
  if (_transaction) return _transaction->advance();
  Stream& stream = *_planned->stream;
  MpiTransport::Setup setup;
  setup.comm = _runtime.helper_shadow;
  setup.tag = data_tag(static_cast<int>(_planned->lane));
  setup.accounts = &stream.accounts(_planned->lane);
  setup.ranks = stream.ranks().data();
  Task task;
  task.window = _record.event.window;
  task.log = _record.log(stream.ranks());
  _transaction.emplace(_planned->call, _planned->arguments, *_planned->prepared, setup);
  _transaction->start(task);
  return Progress::some;
}

void HelperCall::finish(int code) {
  _transaction.reset();
  _planned.reset();
  _record.finish();
  _complete(code);
}

void execute(Runtime& runtime, std::shared_ptr<const PlannedCall> planned, const CallRecord& record,
             std::function<void(int code)> complete) {
  const Helper::Lane lane = planned->lane;
  runtime.helper->add(
      lane, std::make_unique<HelperCall>(runtime, std::move(planned), record, std::move(complete)));
}

} // namespace thalweg::runtime
