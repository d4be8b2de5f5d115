#include "runtime/intercept/neighborhood.hpp"

#include "runtime/intercept/record.hpp"
#include "runtime/intercept/transaction.hpp"
#include "units/fields.hpp"

#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace thalweg::runtime {
namespace {

using collective::Neighborhood;

/// Returns the number of neighbours that the rank sends to; those outside a grid count, too.
int destinations(MPI_Comm comm) {
  int topology = MPI_UNDEFINED, count = 0;
  native.Topo_test(comm, &topology);
  if (topology == MPI_CART) {
    native.Cartdim_get(comm, &count);
    return 2 * count;
  }
  if (topology == MPI_GRAPH) {
    int rank = 0;
    native.Comm_rank(comm, &rank);
    native.Graph_neighbors_count(comm, rank, &count);
  } else if (topology == MPI_DIST_GRAPH) {
    int sources = 0, weighted = 0;
    native.Dist_graph_neighbors_count(comm, &sources, &count, &weighted);
  }
  return count;
}

/// Returns the bytes of the i-th block that the rank sends.
std::int64_t sent_bytes(const NeighborhoodCall& call, int i) {
  const Side& send = call.send;
  return bytes_of(send.counts.is_given() ? send.counts[i] : send.count,
                  send.types != nullptr ? send.types[i] : send.type);
}

/// Returns the bytes of the block that the rank sends, or the mean of its blocks, rounded up.
std::int64_t block_size(const NeighborhoodCall& call) {
  if (!call.send.counts.is_given()) return sent_bytes(call, 0);
  const int blocks = destinations(call.comm);
  std::int64_t total = 0;
  for (int i = 0; i < blocks; ++i)
    total += sent_bytes(call, i);
  return blocks > 0 ? (total + blocks - 1) / blocks : 0;
}

/// Returns the bytes that the rank sends to each of its neighbours.
Neighborhoods::Sizes sizes_of(const NeighborhoodCall& call, const Neighbors& neighbors) {
  Neighborhoods::Sizes sizes{call.neighborhood, {}};
  for (std::size_t i = 0; i < neighbors.destinations.size(); ++i)
    sizes.bytes.push_back(sent_bytes(call, static_cast<int>(i)));
  return sizes;
}

void report(Runtime& runtime, const NeighborhoodCall& call, const CallRecord& record,
            const std::string& how) {
  if (!runtime.settings.verbose || !runtime.active() || runtime.world_rank != 0) return;
  const std::string text = std::string(units::name_of(call.neighborhood)) + " of " +
                           std::to_string(record.event.ranks) + " ranks: " + how;
  runtime.notices.add({.key = text, .text = text}, runtime.world_rank, true);
}

/// The blocks of a side whose neighbours are there.
class Present {
public:
  /// @param neighbors one for each block; empty: there is a single one, for all
  Present(const Side& side, const std::vector<int>& neighbors) : _side(side) {
    for (std::size_t i = 0; i < neighbors.size(); ++i)
      if (neighbors[i] != MPI_PROC_NULL) add(side, i);
    if (!_types.empty()) _side.types = _types.data();
    _side.counts = Numbers(_counts.data());
    _side.displacements = Numbers(_displacements.data());
  }
  [[nodiscard]] const Side& side() const { return _side; }
  [[nodiscard]] Rank count() const { return static_cast<Rank>(_counts.size()); }

private:
  void add(const Side& side, std::size_t i) {
    const auto at = static_cast<std::int64_t>(i);
    _counts.push_back(side.counts.is_given() ? side.counts[at] : side.count);
    _displacements.push_back(side.displacements.is_given() ? side.displacements[at]
                                                           : at * side.count);
    if (side.types != nullptr) _types.push_back(side.types[i]);
  }

  Side _side;
  std::vector<std::int64_t> _counts, _displacements;
  std::vector<MPI_Datatype> _types;
};

/// Returns the side that a rank sends. Without a destination no one reads it, so its buffer may be
/// null.
Side read_of(const NeighborhoodCall& call, const Neighbors& neighbors) {
  Side side = call.send;
  const bool has_destination =
      std::ranges::any_of(neighbors.destinations, [](int rank) { return rank != MPI_PROC_NULL; });
  if (call.neighborhood == Neighborhood::allgather && !has_destination) side.count = 0;
  return side;
}

/// The arguments of a call without those for neighbours that aren't there.
struct NeighborArguments {
  NeighborArguments(const NeighborhoodCall& call, const Neighbors& neighbors)
      : sent(read_of(call, neighbors), call.neighborhood == Neighborhood::allgather
                                           ? std::vector<int>{0}
                                           : neighbors.destinations),
        received(call.receive, neighbors.sources),
        arguments(examine_neighbors(sent.side(), sent.count(), received.side(), received.count())) {
  }

  Present sent, received;
  Arguments arguments;
};

/// Returns the bytes that a rank sends to all its neighbours together.
std::int64_t total_sent(const Arguments& arguments, const NeighborhoodCall& call,
                        std::int64_t neighbors) {
  const Blocks& send = arguments.send;
  if (call.neighborhood == Neighborhood::allgather) return send.bytes(0) * neighbors;
  std::int64_t total = 0;
  for (Rank i = 0; i < send.count; ++i)
    total += send.bytes(i);
  return total;
}

/// Executes a call that has a plan. Returns whether its arguments are such that it can be.
bool follow(Runtime& runtime, const Communicator& communicator, const NeighborhoodCall& call,
            const NeighborhoodPlan& plan, CallRecord& record) {
  const Neighbors& neighbors = communicator.neighborhoods->neighbors();
  const NeighborArguments its(call, neighbors);
  if (its.arguments.reason) return false;
  const std::int64_t sent = total_sent(its.arguments, call, plan.destinations);
  const Prepared& prepared = plan.for_size(sent);
  record.plan(prepared);
  record.event.window = prepared.pipeline.window; // all messages at once mustn't become fewer
  if (sent == plan.bytes) record.prediction = plan.prediction;
  const Call as_call{.kind = collective::Kind::alltoall, .comm = call.comm};
  carry_out(runtime, communicator, as_call, its.arguments, prepared, record);
  report(runtime, call, record, plan.paced.description);
  return true;
}

/// Returns why a call on the communicator is native.
Reason reason_of(const Communicator& communicator, const NeighborhoodCall& call) {
  if (communicator.neighborhoods != nullptr)
    return communicator.neighborhoods->reason(call.neighborhood);
  return communicator.reason.value_or(Reason::not_set_up);
}

/// Counts a call that all ranks have made, as planned or natively; from the first one on that may
/// be planned ever.
int count(Runtime& runtime, Communicator& communicator, const NeighborhoodCall& call) {
  return guarded(call.comm, [&] {
    auto& its = communicator.neighborhoods;
    if (its == nullptr) {
      if (!runtime.active()) return;
      if (communicator.reason && communicator.reason != Reason::not_set_up) return;
      its = std::make_unique<Neighborhoods>(call.comm, communicator, runtime);
    }
    if (!its->begins(call.neighborhood)) return its->after_call(call.neighborhood, nullptr);
    const Neighborhoods::Sizes sizes = sizes_of(call, its->neighbors());
    its->after_call(call.neighborhood, &sizes);
  });
}

/// Counts what the rank has sent to each of its neighbours, if the run is recorded.
void count_blocks(Runtime& runtime, const NeighborhoodCall& call) {
  if (!runtime.record) return;
  try {
    const std::vector<int>& neighbors = runtime.record->destinations.neighbors(call.comm);
    for (std::size_t i = 0; i < neighbors.size(); ++i)
      if (neighbors[i] >= 0)
        runtime.record->neighbor_blocks.count(
            neighbors[i], static_cast<std::uint64_t>(sent_bytes(call, static_cast<int>(i))));
  } catch (const std::exception&) { // without memory, they are not counted
    return;
  }
}

/// Records a call that has been executed natively. @param communicator null if it isn't known
void finish_native(Runtime& runtime, const Communicator* communicator, const NeighborhoodCall& call,
                   CallRecord& record) {
  if (communicator == nullptr) native.Comm_size(call.comm, &record.event.ranks);
  record.event.size = block_size(call);
  record.finish();
  report(runtime, call, record, "native (" + std::string(units::name_of(*record.reason)) + ")");
}

/// Executes a call natively and records it. @param communicator null if it isn't known
int execute_natively(Runtime& runtime, const Communicator* communicator,
                     const NeighborhoodCall& call, CallRecord& record, NativeCall execute_native) {
  const int code = execute_native();
  if (code == MPI_SUCCESS) finish_native(runtime, communicator, call, record);
  return code;
}

/// Executes a call on a communicator that has been used.
int execute_known(Runtime& runtime, Communicator& communicator, const NeighborhoodCall& call,
                  CallRecord& record, NativeCall execute_native) {
  record.set(communicator);
  record.event.sequence = communicator.calls++;
  Neighborhoods* const its = communicator.neighborhoods.get();
  bool followed = false;
  int code = guarded(call.comm, [&] {
    if (its == nullptr) return;
    its->before_call();
    const NeighborhoodPlan* const plan = its->plan(call.neighborhood);
    followed = plan != nullptr && follow(runtime, communicator, call, *plan, record);
  });
  if (code != MPI_SUCCESS) return code;
  if (followed) {
    record.event.size = block_size(call);
    record.finish();
  } else {
    record.reason = reason_of(communicator, call);
    code = execute_natively(runtime, &communicator, call, record, execute_native);
  }
  return code == MPI_SUCCESS ? count(runtime, communicator, call) : code;
}

/// Executes the first call on a communicator. It is looked at only after that has succeeded, since
/// the handle may be wrong.
int execute_first(Runtime& runtime, const NeighborhoodCall& call, CallRecord& record,
                  NativeCall execute_native) {
  record.reason = runtime.reason.value_or(Reason::not_set_up);
  const int code = execute_native();
  if (code != MPI_SUCCESS) return code;
  if (!runtime.active() && !runtime.settings.observes()) {
    finish_native(runtime, nullptr, call, record);
    return code;
  }
  Communicator* communicator = nullptr;
  if (const int error = add_communicator(runtime, call.comm, communicator)) return error;
  if (communicator == nullptr) return code;
  record.event.sequence = communicator->calls++;
  record.set(*communicator);
  finish_native(runtime, communicator, call, record);
  return count(runtime, *communicator, call);
}

} // namespace

int execute(const NeighborhoodCall& call, NativeCall execute_native) {
  Runtime* const it = runtime;
  if (it == nullptr) return execute_native();
  CallRecord record(*it, it->counters, call.neighborhood);
  Communicator* const communicator = it->communicators.find(call.comm);
  const int code = communicator != nullptr
                       ? execute_known(*it, *communicator, call, record, execute_native)
                       : execute_first(*it, call, record, execute_native);
  if (code == MPI_SUCCESS) count_blocks(*it, call);
  return code;
}

int start(const NeighborhoodCall& call, NativeCall start_natively) {
  const int code = make_persistent(call, start_natively);
  if (code == MPI_SUCCESS && runtime != nullptr) count_blocks(*runtime, call);
  return code;
}

int make_persistent(const NeighborhoodCall& call, NativeCall make_natively) {
  Runtime* const it = runtime;
  if (it == nullptr || it->helper == nullptr) return make_natively();
  CallRecord record(*it, it->nonblocking_counters, call.neighborhood);
  record.reason = it->reason.value_or(Reason::not_planned);
  const Communicator* const communicator = it->communicators.find(call.comm);
  if (communicator != nullptr) record.set(*communicator);
  return execute_natively(*it, communicator, call, record, make_natively);
}

} // namespace thalweg::runtime
