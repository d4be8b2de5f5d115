#include "runtime/intercept/record.hpp"

#include "runtime/choose/reproducible.hpp"
#include "units/fields.hpp"

#include <algorithm>
#include <bit>

namespace thalweg::runtime {

using collective::Kind;

namespace {

/// Says what was decided, as far as it is wanted.
void report(Runtime& runtime, const Communicator& communicator, const Shape& shape,
            const Chooser::Decision& choice) {
  const bool leads = communicator.rank == 0;
  if (choice.refusal != nullptr) runtime.notices.add(*choice.refusal, runtime.world_rank, leads);
  if (!runtime.settings.verbose || runtime.world_rank != 0) return;
  const std::string kind(to_text(shape.kind));
  std::string what = std::to_string(communicator.size) + " ranks";
  if (collective::is_rooted(shape.kind)) what += ", root " + std::to_string(shape.root);
  what += ": " + (choice.prepared != nullptr
                      ? choice.prepared->description
                      : "native (" + std::string(units::name_of(*choice.reason)) + ")");
  const bool has_size = shape.kind != Kind::barrier && shape.sizes_are_known;
  const std::string size = has_size ? units::size_to_text(shape.size) + ", " : "";
  // Said once for all sizes that have the same plan.
  runtime.notices.add({.key = kind + " " + what, .text = kind + " of " + size + what},
                      runtime.world_rank, leads);
}

} // namespace

CallRecord::CallRecord(Runtime& runtime, observe::Counters& counters, observe::Counted what)
    : _runtime(runtime), _counters(counters), _what(what) {
  if (&counters != &runtime.counters) event.type = observe::EventType::nonblocking_call;
  event.collective = what.number();
  event.call = runtime.call_numbers.add(1);
  event.tag = event.leader = -1;
  event.enter = observe::now();
  if (runtime.recorder.is_open()) _begin = observe::CoreTime::lately(event.enter);
}

CallRecord::CallRecord(Runtime& runtime, observe::Counters& counters, const Call& call)
    : CallRecord(runtime, counters, observe::Counted(call.kind)) {
  event.root = collective::is_rooted(call.kind) ? call.root : 0;
}

namespace {

/// Returns the name of a communicator, or what stands for it until it has one: a number below -1
/// that those with other members don't have, most likely. Only where one thread calls: it can't
/// tell apart communicators with the same members, on which threads may call in any order.
std::int32_t name_or_members(const Communicator& communicator, const Runtime& runtime) {
  if (communicator.name >= 0 || communicator.members == 0 || runtime.multiple_threads)
    return communicator.name;
  constexpr std::uint64_t below = (std::uint64_t{1} << 31) - 2;
  return -2 - static_cast<std::int32_t>(communicator.members % below);
}

} // namespace

void CallRecord::set(const Communicator& communicator) {
  event.ranks = communicator.size;
  event.tag = name_or_members(communicator, _runtime);
  event.leader = communicator.leader();
  event.member = communicator.rank + 1;
  members = communicator.members;
}

void CallRecord::look_at(const Call& call) {
  if (!_runtime.record || call.kind == Kind::barrier) return;
  using observe::DatatypeClass;
  // Only the root's, or nobody's, need be valid on one of the sides; across an intercommunicator
  // it is the other one that the root's need not.
  const bool is_root_across = call.root == MPI_ROOT && call.kind != Kind::bcast;
  const bool receives = call.kind == Kind::bcast || call.send.buffer == MPI_IN_PLACE ||
                        (call.kind == Kind::scatter) != is_root_across;
  const Side& side = receives ? call.receive : call.send;
  if (side.types != nullptr) {
    datatype = DatatypeClass::several;
  } else if (event.size > 0 && side.buffer != MPI_IN_PLACE && side.type != native.datatype_null) {
    const TypeInfo& info = inspect(side.type);
    datatype = info.predefined   ? DatatypeClass::predefined
               : info.contiguous ? DatatypeClass::contiguous
                                 : DatatypeClass::gaps;
  }
}

void CallRecord::finish() {
  event.exit = observe::now();
  event.planned = reason ? 0 : 1;
  event.reason = reason ? static_cast<std::uint8_t>(*reason) : 0;
  // The program's mistake, about which the MPI library has told it.
  if (event.root < 0 || event.root >= event.ranks) event.root = 0;
  if (_runtime.recorder.is_open()) {
    event.off_core = static_cast<std::uint16_t>(
        std::min(observe::CoreTime::lately(event.exit).off_core_ns(_begin) / observe::off_core_ns,
                 std::int64_t{65535}));
    _runtime.recorder.add(event);
  }
  const observe::Counters::Call call{.bytes = event.size,
                                     .time = event.exit - event.enter,
                                     .native_ns = prediction.native_ns,
                                     .bound_ns = prediction.bound_ns};
  if (_runtime.record) _runtime.record->calls.count(key(), call);
  if (_runtime.settings.observes()) _runtime.keep_time(event.exit);
  _counters.count(_what, reason, call);
}

observe::CallKey CallRecord::key() const {
  const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(event.size, 0));
  return {.communicator = members,
          .ranks = event.ranks,
          .root = event.root,
          .algorithm = event.algorithm,
          .collective = event.collective,
          .size_class = static_cast<std::uint8_t>(std::bit_width(size)),
          .datatype = datatype,
          .planned = event.planned,
          .reason = event.reason,
          .flags = static_cast<std::uint8_t>(
              (event.type == observe::EventType::nonblocking_call ? observe::is_nonblocking : 0) |
              (prediction.native_ns > 0 ? observe::native_is_predicted : 0) |
              (prediction.bound_ns > 0 ? observe::bound_is_known : 0))};
}

void CallRecord::plan(const Prepared& prepared) {
  event.algorithm = prepared.algorithm;
  event.window = prepared.pipeline.window_within(_runtime.settings.window);
}

observe::TransferLog CallRecord::log(const std::vector<int>& world_ranks) const {
  observe::TransferLog log;
  log.recorder = _runtime.recorder.is_open() ? &_runtime.recorder : nullptr;
  log.links = _runtime.record ? &_runtime.record->links : nullptr;
  if (!log.enabled()) return log;
  log.world_ranks = world_ranks.data();
  log.common.collective = event.collective;
  log.common.call = event.call;
  log.common.tag = event.tag;
  return log;
}

Chooser::Decision decide(Runtime& runtime, Communicator& communicator, const Arguments& arguments) {
  const auto reason = arguments.reason ? arguments.reason : communicator.reason;
  if (reason) return {.reason = reason};
  auto choice = communicator.chooser->choose(arguments.shape, runtime.force, runtime.force_version);
  if (choice.is_new) report(runtime, communicator, arguments.shape, choice);
  return choice;
}

int add_communicator(Runtime& runtime, MPI_Comm comm, Communicator*& added) {
  return guarded(comm, [&] { added = runtime.communicators.add(comm, runtime); });
}

void report_native(Runtime& runtime, const Communicator& communicator, Kind kind, Reason reason) {
  if (!runtime.settings.reproducible || !depends_on_order(kind)) return;
  if (reason == Reason::empty || reason == Reason::arguments || reason == Reason::single_rank)
    return;
  const auto report = [&] {
    const std::string name(units::name_of(reason));
    runtime.notices.add({.key = "THALWEG_REPRODUCIBLE " + name,
                         .text = "THALWEG_REPRODUCIBLE: a native " + std::string(to_text(kind)) +
                                 " may differ between runs; the reason is " + name},
                        runtime.world_rank, communicator.rank == 0);
  };
  static_cast<void>(code_of(report)); // Without memory for it the notice is missing.
}

} // namespace thalweg::runtime
