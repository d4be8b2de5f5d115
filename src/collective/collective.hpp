#pragma once

#include "units/units.hpp"

#include <array>
#include <cstddef>
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

/// The blocks that a collective's data consists of.
enum class Blocks : std::uint8_t {
  one,      ///< a vector
  per_rank, ///< one for each rank
  per_pair, ///< one for each ordered pair of ranks
};

/// The part of the root.
enum class RootRole : std::uint8_t {
  none,   ///< there is no root
  source, ///< it has everything before
  target, ///< it has everything after
};

/// The properties of a kind, apart from what is where before and after.
struct KindInfo {
  std::string_view name; ///< "bcast", as in files and THALWEG_FORCE
  RootRole root;
  bool is_reduction; ///< contributions are combined
  bool is_prefix;    ///< a rank gets the contributions of lower ranks, and perhaps its own
  Blocks blocks;
};

/// The only list of the kinds, from which all others are made. Switches over kinds have no default,
/// so that the compiler refuses a kind that is missing in this one or in another.
constexpr KindInfo info(Kind kind) {
  switch (kind) {
  case Kind::bcast:
    return {"bcast", RootRole::source, false, false, Blocks::one};
  case Kind::reduce:
    return {"reduce", RootRole::target, true, false, Blocks::one};
  case Kind::allreduce:
    return {"allreduce", RootRole::none, true, false, Blocks::one};
  case Kind::gather:
    return {"gather", RootRole::target, false, false, Blocks::per_rank};
  case Kind::scatter:
    return {"scatter", RootRole::source, false, false, Blocks::per_rank};
  case Kind::allgather:
    return {"allgather", RootRole::none, false, false, Blocks::per_rank};
  case Kind::alltoall:
    return {"alltoall", RootRole::none, false, false, Blocks::per_pair};
  case Kind::reduce_scatter:
    return {"reduce_scatter", RootRole::none, true, false, Blocks::per_rank};
  case Kind::scan:
    return {"scan", RootRole::none, true, true, Blocks::one};
  case Kind::exscan:
    return {"exscan", RootRole::none, true, true, Blocks::one};
  case Kind::barrier:
    return {"barrier", RootRole::none, true, false, Blocks::one};
  }
  return {};
}

inline constexpr std::size_t kind_count = [] {
  std::size_t count = 0;
  while (!info(static_cast<Kind>(count)).name.empty())
    ++count;
  return count;
}();

/// In the order of Kind.
inline constexpr std::array<Kind, kind_count> kinds = [] {
  std::array<Kind, kind_count> all{};
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<Kind>(i);
  return all;
}();

/// An array with one value for each kind.
template <class T>
class ByKind {
public:
  T& operator[](Kind kind) { return _values[static_cast<std::size_t>(kind)]; }
  const T& operator[](Kind kind) const { return _values[static_cast<std::size_t>(kind)]; }
  auto begin() { return _values.begin(); }
  auto end() { return _values.end(); }
  auto begin() const { return _values.begin(); }
  auto end() const { return _values.end(); }

private:
  std::array<T, kind_count> _values{};
};

constexpr std::string_view to_text(Kind kind) { return info(kind).name; }
/// @throws std::invalid_argument listing the known names
Kind parse_kind(std::string_view text);

constexpr bool is_rooted(Kind kind) { return info(kind).root != RootRole::none; }
constexpr bool begins_at_root(Kind kind) { return info(kind).root == RootRole::source; }
/// Whether the root exchanges another block with each rank, as in gather and scatter.
constexpr bool root_has_blocks(Kind kind) {
  return is_rooted(kind) && info(kind).blocks == Blocks::per_rank;
}
constexpr bool is_prefix(Kind kind) { return info(kind).is_prefix; }
/// Whether no rank can leave a call before all have entered it, if blocks aren't empty.
constexpr bool synchronizes(Kind kind) { return !is_rooted(kind) && !is_prefix(kind); }
constexpr bool is_reduction(Kind kind) { return info(kind).is_reduction; }

/// The most bytes of all blocks of a collective together: 256 PiB, so that products of sizes stay
/// representable.
inline constexpr Size most_bytes = Size{1} << 58;

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
  bool operator==(const Collective&) const = default;

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
  /// The blocks `first`, `first + stride` and so on.
  struct BlockRange {
    ChunkId first = 0, stride = 1, count = 0;
  };
  /// Returns the blocks that `rank` must hold at the end.
  [[nodiscard]] BlockRange blocks_after(Rank rank) const;
  /// Whether `rank`'s result for the block must contain `contributor`'s contribution.
  [[nodiscard]] bool contributes(Rank contributor, Rank rank, ChunkId block) const;
  /// Returns where the block lies in register 0 of `rank`: equal slots overwrite each other. The
  /// slot is the block itself, except in an in-place alltoall, where a rank's outgoing and incoming
  /// blocks of one peer share a slot.
  [[nodiscard]] ChunkId slot(Rank rank, ChunkId block) const;
};

/// Checks what all modules rely on: at least one rank, a root that is one of them, a size for each
/// block or one for all, none negative, and at most most_bytes together.
/// @throws std::invalid_argument naming the number at fault
void validate(const Collective& collective);

} // namespace thalweg::collective
