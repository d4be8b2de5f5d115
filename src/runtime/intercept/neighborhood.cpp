#include "runtime/intercept/neighborhood.hpp"

#include "runtime/intercept/record.hpp"
#include "units/fields.hpp"

namespace thalweg::runtime {
namespace {

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

std::int64_t bytes(std::int64_t count, MPI_Datatype type) {
  MPI_Count size = 0;
  if (count > 0) native.Type_size_x(type, &size); // else the type may be none
  return count * size;
}

/// Returns the bytes of the block that the rank sends, or the mean of its blocks, rounded up.
std::int64_t block_size(const NeighborhoodCall& call) {
  const Side& send = call.send;
  if (!send.counts.is_given()) return bytes(send.count, send.type);
  const int blocks = destinations(call.comm);
  std::int64_t total = 0;
  for (int i = 0; i < blocks; ++i)
    total += bytes(send.counts[i], send.types != nullptr ? send.types[i] : send.type);
  return blocks > 0 ? (total + blocks - 1) / blocks : 0;
}

void report(Runtime& runtime, const NeighborhoodCall& call, const CallRecord& record) {
  if (!runtime.settings.verbose || !runtime.active() || runtime.world_rank != 0) return;
  const std::string text = std::string(units::name_of(call.neighborhood)) + " of " +
                           std::to_string(record.event.ranks) + " ranks: native (" +
                           std::string(units::name_of(*record.reason)) + ")";
  runtime.notices.add({.key = text, .text = text}, runtime.world_rank, true);
}

/// Executes the call and records it. The communicator is looked at only after its call has
/// succeeded, since the handle may be wrong, and isn't set up by it.
int record_native(Runtime& runtime, observe::Counters& counters, const NeighborhoodCall& call,
                  NativeCall execute_natively) {
  CallRecord record(runtime, counters, call.neighborhood);
  record.reason = runtime.reason.value_or(Reason::not_planned);
  const int code = execute_natively();
  if (code != MPI_SUCCESS) return code;
  if (Communicator* const communicator = runtime.communicators.find(call.comm)) {
    record.set(*communicator);
    record.event.sequence = communicator->calls++;
  } else {
    native.Comm_size(call.comm, &record.event.ranks);
  }
  record.event.size = block_size(call);
  record.finish();
  report(runtime, call, record);
  return code;
}

} // namespace

int execute(const NeighborhoodCall& call, NativeCall execute_natively) {
  Runtime* const it = runtime;
  return it != nullptr ? record_native(*it, it->counters, call, execute_natively)
                       : execute_natively();
}

int start(const NeighborhoodCall& call, NativeCall start_natively) {
  Runtime* const it = runtime;
  return it != nullptr && it->helper != nullptr
             ? record_native(*it, it->nonblocking_counters, call, start_natively)
             : start_natively();
}

} // namespace thalweg::runtime
