#include "collective/collective.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace thalweg::collective {
Kind parse_kind(std::string_view text) {
  std::string known;
  for (const Kind kind : kinds) {
    if (to_text(kind) == text) return kind;
    known += (known.empty() ? "" : ", ") + std::string(to_text(kind));
  }
  throw std::invalid_argument("\"" + std::string(text) + "\" is not a collective: choose one of " +
                              known);
}

ChunkId Collective::blocks() const {
  switch (info(kind).blocks) {
  case Blocks::one:
    return 1;
  case Blocks::per_rank:
    return ranks;
  case Blocks::per_pair:
    return ChunkId{ranks} * ranks;
  }
  return 1;
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
  case Kind::reduce:
  case Kind::allreduce:
  case Kind::reduce_scatter:
  case Kind::scan:
  case Kind::exscan:
  case Kind::barrier:
    return true;
  }
  return true;
}

bool Collective::after(Rank rank, ChunkId block) const {
  const BlockRange blocks = blocks_after(rank);
  return blocks.count > 0 && block >= blocks.first && (block - blocks.first) % blocks.stride == 0 &&
         (block - blocks.first) / blocks.stride < blocks.count;
}

Collective::BlockRange Collective::blocks_after(Rank rank) const {
  const ChunkId all = blocks();
  switch (kind) {
  case Kind::reduce:
  case Kind::gather:
    return {.count = rank == root ? all : 0};
  case Kind::scatter:
  case Kind::reduce_scatter:
    return {.first = rank, .count = 1};
  case Kind::alltoall:
    return {.first = rank, .stride = ranks, .count = ranks};
  case Kind::exscan:
    return {.count = rank > 0 ? all : 0};
  case Kind::bcast:
  case Kind::allreduce:
  case Kind::allgather:
  case Kind::scan:
  case Kind::barrier:
    return {.count = all};
  }
  return {.count = all};
}

bool Collective::contributes(Rank contributor, Rank rank, ChunkId block) const {
  if (!is_prefix(kind)) return before(contributor, block);
  return contributor < rank || (contributor == rank && kind == Kind::scan);
}

ChunkId Collective::slot(Rank rank, ChunkId block) const {
  if (kind != Kind::alltoall || !in_place) return block;
  const ChunkId source = block / ranks, destination = block % ranks;
  // A block from a peer overwrites the block for that peer.
  return rank == destination ? destination * ranks + source : block;
}

void validate(const Collective& collective) {
  const std::string what = "the " + std::string(to_text(collective.kind)) + " of " +
                           std::to_string(collective.ranks) + " ranks";
  const auto fail = [&](const std::string& why) { throw std::invalid_argument(what + " " + why); };
  if (collective.ranks < 1) fail("is impossible: it needs at least 1");
  if (collective.root < 0 || collective.root >= collective.ranks)
    fail("can't have the root " + std::to_string(collective.root) + ": choose one from 0 to " +
         std::to_string(collective.ranks - 1));
  const auto& sizes = collective.block_sizes;
  if (!sizes.empty() && std::cmp_not_equal(sizes.size(), collective.blocks()))
    fail("needs the sizes of " + std::to_string(collective.blocks()) + " blocks, not of " +
         std::to_string(sizes.size()));
  const auto least =
      std::min(collective.size, sizes.empty() ? 0 : *std::ranges::min_element(sizes));
  if (least < 0) fail("can't have " + std::to_string(least) + " bytes: give 0 or more");
  Size left = most_bytes;
  for (const Size size : sizes) {
    if (size > left) left = -1;
    if (left < 0) break;
    left -= size;
  }
  if (left < 0 || (sizes.empty() && collective.size > most_bytes / collective.blocks()))
    fail("has more than the 256 PiB that all of its blocks together may have: give a smaller "
         "size");
}

} // namespace thalweg::collective
