#include "collective/collective.hpp"

#include <array>
#include <numeric>
#include <stdexcept>

namespace thalweg::collective {
namespace {

// In the order of Kind.
constexpr std::array<std::string_view, 11> names{
    "bcast",    "reduce",         "allreduce", "gather", "scatter", "allgather",
    "alltoall", "reduce_scatter", "scan",      "exscan", "barrier"};

} // namespace

std::string_view to_text(Kind kind) { return names.at(static_cast<std::size_t>(kind)); }

Kind parse_kind(std::string_view text) {
  std::string known;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<Kind>(i);
    known += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  throw std::invalid_argument("\"" + std::string(text) + "\" is not a collective: choose one of " +
                              known);
}

ChunkId Collective::blocks() const {
  switch (kind) {
  case Kind::gather:
  case Kind::scatter:
  case Kind::allgather:
  case Kind::reduce_scatter:
    return ranks;
  case Kind::alltoall:
    return ChunkId{ranks} * ranks;
  default:
    return 1;
  }
}

Size Collective::total() const {
  if (block_sizes.empty()) return size * blocks();
  return std::accumulate(block_sizes.begin(), block_sizes.end(), Size{0});
}

bool Collective::before(Rank rank, ChunkId block) const {
  switch (kind) {
  case Kind::bcast:
  case Kind::scatter:
    return rank == root;
  case Kind::gather:
  case Kind::allgather:
    return rank == block;
  case Kind::alltoall:
    return rank == block / ranks;
  default:
    return true;
  }
}

bool Collective::after(Rank rank, ChunkId block) const {
  switch (kind) {
  case Kind::reduce:
  case Kind::gather:
    return rank == root;
  case Kind::scatter:
  case Kind::reduce_scatter:
    return rank == block;
  case Kind::alltoall:
    return rank == block % ranks;
  case Kind::exscan:
    return rank > 0;
  default:
    return true;
  }
}

bool Collective::contributes(Rank contributor, Rank rank, ChunkId block) const {
  if (kind == Kind::scan) return contributor <= rank;
  if (kind == Kind::exscan) return contributor < rank;
  return before(contributor, block);
}

ChunkId Collective::slot(Rank rank, ChunkId block) const {
  if (kind != Kind::alltoall || !in_place) return block;
  const ChunkId source = block / ranks, destination = block % ranks;
  // A block from a peer overwrites the block for that peer.
  return rank == destination ? destination * ranks + source : block;
}

} // namespace thalweg::collective
