#pragma once

#include "runtime/choose/chooser.hpp"
#include "runtime/intercept/call.hpp"
#include "runtime/mpi/datatype.hpp"

#include <optional>
#include <vector>

namespace thalweg::runtime {

struct Communicator;
struct Runtime;

/// The blocks of a collective that a rank itself sends, or receives, and where they lie in its
/// buffer. They have indices from 0; block 0 is the collective's block `first`, the others follow
/// by `stride`.
struct Blocks {
  Side side;
  TypeInfo info;               ///< of its type
  std::vector<TypeInfo> infos; ///< of its types, by block; not of those of empty blocks
  ChunkId first = 0, stride = 1;
  Rank count = 0;
  std::vector<MPI_Count> begins; ///< elements before each block, unless displacements are given

  [[nodiscard]] MPI_Count elements(Rank i) const {
    return side.counts ? side.counts[i] : side.count;
  }
  /// Returns the bytes of data in a block.
  [[nodiscard]] std::int64_t bytes(Rank i) const { return elements(i) * info_of(i).shape.bytes; }
  [[nodiscard]] MPI_Datatype type_of(Rank i) const {
    return side.types != nullptr ? side.types[i] : side.type;
  }
  [[nodiscard]] const TypeInfo& info_of(Rank i) const {
    return infos.empty() ? info : infos[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] std::byte* address(Rank i) const;
  [[nodiscard]] ChunkId id(Rank i) const { return first + i * stride; }
  /// Returns the index of a block of the collective, if it is one of these.
  [[nodiscard]] std::optional<Rank> find(ChunkId id) const;
};

/// A call as a rank of its communicator sees it: without MPI_IN_PLACE, and without insignificant
/// arguments.
struct Arguments {
  std::optional<Reason> reason; ///< why no plan can apply, if so
  Shape shape;
  Blocks send, receive;
  bool combines = false; ///< elements of the type; else bytes are moved
  bool save = false;     ///< results would overwrite the data to send: it must be copied first
  bool uneven = false;   ///< blocks differ in size
  /// Bytes of a block, or their mean: if sizes aren't known to all, of the rank's own blocks, in an
  /// alltoallv of the sent ones.
  std::int64_t size = 0;

  /// Returns the units of a block that the rank knows: bytes, or elements if they are combined.
  [[nodiscard]] std::int64_t units(ChunkId block) const;
};

/// Determines only the size of a call on an intercommunicator. Throws nothing but std::bad_alloc.
Arguments examine(const Call& call, const Communicator& communicator, const Runtime& runtime);

/// Returns the arguments of a call with a block for each of some neighbours: the received blocks
/// are numbered after the sent ones. Throws nothing but std::bad_alloc.
Arguments examine_neighbors(const Side& send, Rank sends, const Side& receive, Rank receives);

/// Returns the bytes of a side with one count, if that takes little to know and it isn't empty.
inline std::optional<std::int64_t> plain_size(const Side& side) {
  if (side.buffer == nullptr || side.buffer == MPI_IN_PLACE || side.count <= 0 ||
      side.type == native.datatype_null)
    return std::nullopt;
  const std::int64_t size = side.count * inspect(side.type).shape.bytes;
  return size > 0 ? std::optional(size) : std::nullopt;
}

/// Returns the bytes of a block, as Arguments::size, if that takes little to know and the call
/// isn't empty; 0 for a barrier. Without any other look at the arguments.
inline std::optional<std::int64_t> plain_size(const Call& call) {
  using collective::Kind;
  if (call.kind == Kind::barrier) return 0;
  if (call.is_uneven()) return std::nullopt;
  const bool only_receives = call.kind == Kind::bcast || call.kind == Kind::scatter;
  const Side& own = only_receives ? call.receive : call.send;
  const Side& other = only_receives ? call.send : call.receive;
  return plain_size(own.buffer == MPI_IN_PLACE ? other : own);
}

/// Whether no rank can have left the collective, executed natively, before all have entered it.
bool waits_for_all(const Call& call);

/// Whether each rank sends or receives data in a rooted call, as all ranks know.
/// @param rank of this process in the communicator
bool has_data(const Call& call, Rank rank);

} // namespace thalweg::runtime
