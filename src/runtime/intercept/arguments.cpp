#include "runtime/intercept/arguments.hpp"

#include "planner/unknown_sizes.hpp"
#include "runtime/mpi/ops.hpp"
#include "runtime/setup/communicator.hpp"
#include "runtime/setup/runtime.hpp"

#include <algorithm>

namespace thalweg::runtime {
namespace {

using collective::Kind;

/// Numbers the blocks that the rank sends and receives.
void number_blocks(Arguments& it, Kind kind, Rank rank, Rank ranks, Rank root) {
  const auto set = [](Blocks& blocks, Rank count, ChunkId first = 0, ChunkId stride = 1) {
    blocks.count = count;
    blocks.first = first;
    blocks.stride = stride;
  };
  const bool is_root = rank == root;
  switch (kind) {
  case Kind::bcast:
    set(it.send, is_root ? 1 : 0);
    set(it.receive, 1);
    break;
  case Kind::reduce:
    set(it.send, 1);
    set(it.receive, is_root ? 1 : 0);
    break;
  case Kind::allreduce:
  case Kind::scan:
    set(it.send, 1);
    set(it.receive, 1);
    break;
  case Kind::exscan:
    set(it.send, 1);
    set(it.receive, rank > 0 ? 1 : 0);
    break;
  case Kind::gather:
    set(it.send, 1, rank);
    set(it.receive, is_root ? ranks : 0);
    break;
  case Kind::allgather:
    set(it.send, 1, rank);
    set(it.receive, ranks);
    break;
  case Kind::scatter:
    set(it.send, is_root ? ranks : 0);
    set(it.receive, 1, rank);
    break;
  case Kind::alltoall:
    set(it.send, ranks, ChunkId{rank} * ranks);
    set(it.receive, ranks, rank, ranks);
    break;
  case Kind::reduce_scatter:
    set(it.send, ranks);
    set(it.receive, 1, rank);
    break;
  case Kind::barrier:
    break;
  }
}

/// Fills the `infos` of blocks that have types of their own. Returns whether they are valid.
bool inspect_types(Blocks& blocks) {
  blocks.infos.resize(static_cast<std::size_t>(blocks.count));
  for (Rank i = 0; i < blocks.count; ++i) {
    if (blocks.elements(i) == 0) continue;
    const MPI_Datatype type = blocks.type_of(i);
    if (type == native.datatype_null) return false;
    const bool known = i > 0 && blocks.elements(i - 1) > 0 && blocks.type_of(i - 1) == type;
    const auto at = static_cast<std::size_t>(i);
    blocks.infos[at] = known ? blocks.infos[at - 1] : inspect(type);
    if (blocks.side.buffer == nullptr && blocks.side.displacements[i] == 0 &&
        blocks.infos[at].predefined)
      return false;
  }
  return true;
}

/// Whether the arrays that the side needs are there.
bool is_complete(const Blocks& blocks) {
  const Side& side = blocks.side;
  if (!side.counts.is_given()) return true;
  return side.counts && (side.displacements || !blocks.begins.empty());
}

/// Whether the side is valid. Fills its `info`; `other` is a side that was inspected before.
bool inspect_side(Blocks& blocks, const Blocks* other = nullptr) {
  if (blocks.count == 0) return true;
  const Side& side = blocks.side;
  if (side.buffer == MPI_IN_PLACE || !is_complete(blocks)) return false;
  bool any = false, any_at_buffer = false;
  for (Rank i = 0; i < (side.counts ? blocks.count : 1); ++i) {
    if (blocks.elements(i) < 0) return false;
    if (blocks.elements(i) == 0) continue;
    any = true;
    any_at_buffer |= !side.displacements || side.displacements[i] == 0;
  }
  if (side.types != nullptr) return inspect_types(blocks);
  // MPICH accepts any type if there is no data.
  if (side.type == native.datatype_null) return !any;
  const bool known = other != nullptr && other->count > 0 && other->side.type == side.type;
  blocks.info = known ? other->info : inspect(side.type);
  // Displacements, and types of the program's, may be relative to MPI_BOTTOM, which is null.
  return side.buffer != nullptr || !any_at_buffer || !blocks.info.predefined;
}

/// Sets `one` to block `i` of `whole` alone.
void take_block(Blocks& one, const Blocks& whole, Rank i) {
  one.side = {whole.address(i), whole.elements(i), whole.side.type};
  one.info = whole.info;
}

/// Resolves MPI_IN_PLACE. Returns whether the sides are valid.
bool resolve(Arguments& it, Rank rank) {
  const Kind kind = it.shape.kind;
  Blocks &send = it.send, &receive = it.receive;
  if (kind == Kind::scatter) {
    if (!inspect_side(send)) return false;
    if (send.count > 0 && receive.side.buffer == MPI_IN_PLACE) {
      take_block(receive, send, rank);
      return true;
    }
    return inspect_side(receive, &send);
  }
  // An exscan in place finds its data there even where it receives nothing.
  const bool in_place = send.count > 0 && send.side.buffer == MPI_IN_PLACE &&
                        (receive.count > 0 || kind == Kind::exscan);
  if (kind == Kind::bcast || (in_place && kind == Kind::alltoall))
    send.side = receive.side;
  else if (in_place)
    send.side.buffer = receive.side.buffer;
  if (!inspect_side(receive)) return false;
  if (in_place && (kind == Kind::gather || kind == Kind::allgather)) {
    take_block(send, receive, rank);
    return true;
  }
  it.save = in_place && (kind == Kind::alltoall || kind == Kind::reduce_scatter);
  // A rank without data may give one buffer for both, which the others can't know. So may one whose
  // types differ: what they have at the same address needn't overlap. An exscan, whose first rank
  // may do it, is then executed in place on all.
  const bool overwrites =
      !in_place && !it.uneven && receive.count > 0 && kind != Kind::exscan &&
      send.side.buffer != nullptr && send.side.buffer == receive.side.buffer &&
      (it.combines || (kind == Kind::alltoall && send.side.type == receive.side.type));
  return !overwrites && inspect_side(send, &receive);
}

/// Takes the counts of a reduce_scatter as those of the blocks, one of which is the result.
void set_counts(Arguments& it, Rank rank, Rank ranks) {
  if (it.shape.kind != Kind::reduce_scatter || !it.uneven) return;
  MPI_Count begin = 0;
  for (Rank i = 0; i < ranks; ++i) {
    it.send.begins.push_back(begin);
    begin += it.send.elements(i);
  }
  it.receive.side.count = it.receive.side.counts[rank];
  it.receive.side.counts = {};
}

/// Returns the mean of the blocks' bytes, rounded up.
std::int64_t mean_bytes(const Blocks& blocks) {
  std::int64_t total = 0;
  for (Rank i = 0; i < blocks.count; ++i)
    total += blocks.bytes(i);
  return (total + blocks.count - 1) / blocks.count;
}

/// Determines the size on which the decision depends, and that of the data.
void measure(Arguments& it) {
  if (!it.uneven) {
    const Blocks& known = it.receive.count > 0 ? it.receive : it.send;
    it.shape.size = it.size = known.bytes(0);
    return;
  }
  const Blocks& known = it.send.count >= it.receive.count ? it.send : it.receive;
  it.size = mean_bytes(known);
  it.shape.sizes_are_known = !planner::may_hide_sizes(it.shape.kind);
  it.shape.size = it.shape.sizes_are_known ? it.size : planner::assumed_size;
}

/// Returns the side of a rooted call that describes the rank's own data.
const Side& own_side(const Call& call, bool is_root) {
  const bool receives = call.kind == Kind::bcast || (call.kind == Kind::scatter) != is_root;
  return receives ? call.receive : call.send;
}

/// Returns Arguments::size of a call on an intercommunicator, where a rank has a block for each one
/// of the other group; in a reduce_scatter for each one of its own.
std::int64_t size_across(const Call& call) {
  const bool is_rooted = collective::is_rooted(call.kind);
  if (is_rooted && call.root == MPI_PROC_NULL) return 0;
  const bool only_receives_blocks = call.is_uneven() && !call.send.counts.is_given();
  const Side& side = is_rooted              ? own_side(call, call.root == MPI_ROOT)
                     : only_receives_blocks ? call.receive
                                            : call.send;
  if (!side.counts) return plain_size(side).value_or(0);
  Blocks blocks;
  blocks.side = side;
  const bool among_own = call.kind == Kind::reduce_scatter;
  (among_own ? native.Comm_size : native.Comm_remote_size)(call.comm, &blocks.count);
  if (side.types != nullptr)
    inspect_types(blocks);
  else if (side.type != native.datatype_null)
    blocks.info = inspect(side.type);
  return mean_bytes(blocks);
}

std::optional<Reason> check_operands(const Arguments& it, const Call& call,
                                     const Runtime& runtime) {
  const TypeInfo& info = it.send.info;
  if (!runtime.active()) return std::nullopt;
  if (info.shape.extent < info.shape.true_extent) return Reason::datatype;
  if (!may_reduce(call.op, it.send.side.type, info.predefined, runtime.self)) return Reason::op;
  return std::nullopt;
}

/// Completes the arguments of a collective that has data. Returns why no plan can apply, if so.
std::optional<Reason> why_not(Arguments& it, const Call& call, const Communicator& communicator,
                              const Runtime& runtime) {
  if (collective::is_rooted(call.kind) && (call.root < 0 || call.root >= communicator.size))
    return Reason::arguments;
  if (it.uneven && it.combines && !call.receive.counts) return Reason::arguments;
  number_blocks(it, call.kind, communicator.rank, communicator.size, call.root);
  set_counts(it, communicator.rank, communicator.size);
  if (!resolve(it, communicator.rank)) return Reason::arguments;
  measure(it);
  if (it.shape.size <= 0) return Reason::empty;
  return it.combines ? check_operands(it, call, runtime) : std::nullopt;
}

} // namespace

std::byte* Blocks::address(Rank i) const {
  const std::int64_t begin = !begins.empty()      ? begins[static_cast<std::size_t>(i)]
                             : side.displacements ? side.displacements[i]
                                                  : i * side.count;
  const std::int64_t unit = side.types != nullptr ? 1 : info.shape.extent;
  // Data that is only sent isn't written to.
  return static_cast<std::byte*>(const_cast<void*>(side.buffer)) + begin * unit;
}

std::optional<Rank> Blocks::find(ChunkId id) const {
  const ChunkId offset = id - first;
  if (offset < 0 || offset % stride != 0 || offset / stride >= count) return std::nullopt;
  return static_cast<Rank>(offset / stride);
}

std::int64_t Arguments::units(ChunkId block) const {
  const auto of = [&](const Blocks& blocks, Rank i) {
    return combines ? blocks.elements(i) : blocks.bytes(i);
  };
  if (!uneven) return of(receive.count > 0 ? receive : send, 0);
  if (const auto index = receive.find(block)) return of(receive, *index);
  const auto index = send.find(block);
  return index ? of(send, *index) : 0;
}

Arguments examine(const Call& call, const Communicator& communicator, const Runtime& runtime) {
  Arguments it;
  it.shape.kind = call.kind;
  it.shape.root = collective::is_rooted(call.kind) ? call.root : 0;
  it.combines = collective::is_reduction(call.kind);
  if (communicator.reason == Reason::intercommunicator) {
    it.reason = communicator.reason;
    it.size = size_across(call);
    return it;
  }
  if (call.kind == Kind::barrier) {
    it.shape.size = 1; // tables begin there
    return it;
  }
  it.send.side = call.send;
  it.receive.side = call.receive;
  it.uneven = call.is_uneven();
  it.reason = why_not(it, call, communicator, runtime);
  return it;
}

Arguments examine_neighbors(const Side& send, Rank sends, const Side& receive, Rank receives) {
  Arguments it;
  it.send.side = send;
  it.send.count = sends;
  it.receive.side = receive;
  it.receive.count = receives;
  it.receive.first = sends;
  it.uneven = true;
  if (!inspect_side(it.send) || !inspect_side(it.receive, &it.send)) it.reason = Reason::arguments;
  return it;
}

namespace {

/// Whether a side with one count has data.
bool has_bytes(const Side& side) { return bytes_of(side.count, side.type) > 0; }

} // namespace

bool waits_for_all(const Call& call) {
  if (call.kind == Kind::barrier) return true;
  if (!collective::synchronizes(call.kind)) return false;
  if (call.kind == Kind::alltoall && call.is_uneven()) return false;
  if (!call.is_uneven()) return has_bytes(call.receive);
  int inter = 0, ranks = 0;
  native.Comm_test_inter(call.comm, &inter); // where the counts are those of the other group
  native.Comm_size(call.comm, &ranks);
  if (inter != 0) return false;
  for (Rank i = 0; i < ranks; ++i)
    if (call.receive.counts[i] == 0) return false;
  return bytes_of(1, call.receive.type) > 0;
}

bool has_data(const Call& call, Rank rank) {
  if (call.is_uneven() || !is_rooted(call.kind)) return false;
  return has_bytes(own_side(call, rank == call.root));
}

} // namespace thalweg::runtime
