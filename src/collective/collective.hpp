#pragma once

#include "units/units.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

/// The collectives: what must be true before and after.
///
/// The data of a collective is cut into chunks. A *vector* collective (bcast, reduce, allreduce,
/// scan, exscan, barrier) has one vector, cut into any number of chunks. A *block* collective
/// (gather, scatter, allgather, reduce_scatter: one block per rank; alltoall: one per ordered pair
/// of ranks) has blocks, each cut into the same number of parts: chunk = block * parts + part.
namespace thalweg::collective {

using units::Size;

using Rank = std::int32_t;
/// 64 bits: an alltoall has ranks² blocks.
using ChunkId = std::int64_t;
inline constexpr Rank no_rank = -1;

enum class Kind : std::uint8_t {
  bcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce_scatter,
  scan,
  exscan,
  barrier
};

/// Returns "bcast", "allreduce", ...
std::string_view to_text(Kind kind);
/// @throws std::invalid_argument listing the known names
Kind parse_kind(std::string_view text);

/// Whether the kind is bcast, reduce, gather or scatter.
constexpr bool is_rooted(Kind kind) {
  return kind == Kind::bcast || kind == Kind::reduce || kind == Kind::gather ||
         kind == Kind::scatter;
}
/// Whether contributions are combined: reduce, allreduce, reduce_scatter, scan, exscan, barrier.
constexpr bool is_reduction(Kind kind) {
  return kind == Kind::reduce || kind == Kind::allreduce || kind == Kind::reduce_scatter ||
         kind == Kind::scan || kind == Kind::exscan || kind == Kind::barrier;
}

/// One collective operation.
struct Collective {
  Kind kind = Kind::bcast;
  Rank ranks = 1;
  Rank root = 0;         ///< 0 where there is none
  Size size = 0;         ///< bytes of the vector, or of one block; the mean of unequal blocks
  bool in_place = false; ///< alltoall only: what is sent and what is received lie in the same slots
  /// Bytes by block, for gatherv, scatterv, allgatherv, alltoallv and reduce_scatter; empty: all
  /// blocks have `size` bytes.
  std::vector<Size> block_sizes = {};

  /// Returns the number of blocks that the chunks divide into: 1, ranks, or ranks².
  [[nodiscard]] ChunkId blocks() const;
  /// Returns the bytes of all blocks.
  [[nodiscard]] Size total() const;
  [[nodiscard]] Size block_size(ChunkId block) const {
    return block_sizes.empty() ? size : block_sizes[static_cast<std::size_t>(block)];
  }
  /// Whether `rank` has its own contribution to (or a copy of) the block at the start.
  [[nodiscard]] bool before(Rank rank, ChunkId block) const;
  /// Whether `rank` must hold the block at the end.
  [[nodiscard]] bool after(Rank rank, ChunkId block) const;
  /// Whether `rank`'s result for the block must contain `contributor`'s contribution.
  [[nodiscard]] bool contributes(Rank contributor, Rank rank, ChunkId block) const;
  /// Returns where the block lies in register 0 of `rank`: equal slots overwrite each other. The
  /// slot is the block itself, except in an in-place alltoall, where a rank's outgoing and incoming
  /// blocks of one peer share a slot.
  [[nodiscard]] ChunkId slot(Rank rank, ChunkId block) const;
};

} // namespace thalweg::collective
