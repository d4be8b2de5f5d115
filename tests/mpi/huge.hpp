#pragma once

#include "check.hpp"
#include "random_draws.hpp"

#include <cstdint>
#include <string>
#include <sys/mman.h>
#include <vector>

/// Collectives on buffers whose parts lie more than 2^31 bytes apart, and on more than 2^31
/// elements, that take hardly any memory or time.
namespace thalweg::test {

/// Address space that takes memory only where it is written to.
class SparseMemory {
public:
  explicit SparseMemory(std::size_t bytes)
      : _bytes(bytes), _begin(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (_begin == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 2);
  }
  ~SparseMemory() { munmap(_begin, _bytes); }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  [[nodiscard]] unsigned char* data() const { return static_cast<unsigned char*>(_begin); }

private:
  std::size_t _bytes;
  void* _begin;
};

/// Blocks of `size` bytes, each more than 2^31 bytes after the one before; as many as ranks.
class FarBlocks {
public:
  static constexpr MPI_Aint distance = (MPI_Aint{3} << 30) + 24;

  FarBlocks(const Peers& peers, std::int64_t size)
      : _size(size), _memory(static_cast<std::size_t>(peers.size * distance)) {
    MPI_Datatype block = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(size), MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, distance, &_type);
    MPI_Type_commit(&_type);
    MPI_Type_free(&block);
  }
  ~FarBlocks() { MPI_Type_free(&_type); }
  FarBlocks(const FarBlocks&) = delete;
  FarBlocks& operator=(const FarBlocks&) = delete;

  [[nodiscard]] unsigned char* data() const { return _memory.data(); }
  /// One block, with the distance to the next.
  [[nodiscard]] MPI_Datatype type() const { return _type; }
  void fill(std::uint64_t seed, int block) const {
    for (std::int64_t at = 0; at < _size; ++at)
      data()[block * distance + at] = value(seed, at);
  }
  [[nodiscard]] bool holds(std::uint64_t seed, int block) const {
    for (std::int64_t at = 0; at < _size; ++at)
      if (data()[block * distance + at] != value(seed, at)) return false;
    return true;
  }

private:
  static unsigned char value(std::uint64_t seed, std::int64_t at) {
    return static_cast<unsigned char>((seed + static_cast<std::uint64_t>(at)) * 2654435761U >> 9);
  }

  std::int64_t _size;
  SparseMemory _memory;
  MPI_Datatype _type = MPI_DATATYPE_NULL;
};

#if MPI_VERSION >= 4
/// Displacements beyond 2^31.
inline void allgather_far_apart(const Peers& peers, const FarBlocks& in, std::int64_t size) {
  const std::vector<MPI_Count> counts(static_cast<std::size_t>(peers.size), size);
  std::vector<MPI_Aint> displacements;
  for (int block = 0; block < peers.size; ++block)
    displacements.push_back(block * FarBlocks::distance);
  MPI_Allgatherv_c(MPI_IN_PLACE, 0, MPI_BYTE, in.data(), counts.data(), displacements.data(),
                   MPI_BYTE, peers.comm);
}

/// More than 2^32 elements, of a datatype without data.
inline void bcast_nothing(const Peers& peers, const FarBlocks& blocks, int root) {
  MPI_Datatype nothing = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  MPI_Type_commit(&nothing);
  MPI_Bcast_c(blocks.data(), (MPI_Count{1} << 32) + 3, nothing, root, peers.comm);
  MPI_Type_free(&nothing);
}
#endif

/// MPICH 4.0 crashes where it packs elements that are more than 2^31 bytes apart.
inline bool packs_far_apart() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(version, &length);
  return std::string(version).find(":\t4.0") == std::string::npos;
}

/// One such call.
inline void huge(Random& shared, MPI_Comm comm) {
  constexpr std::int64_t kinds = MPI_VERSION >= 4 ? 5 : 3;
  const std::int64_t drawn = pick(shared, kinds), size = 1 + pick(shared, 3000);
  const std::int64_t kind = drawn < 3 && !packs_far_apart() ? 3 : drawn;
  const std::uint64_t seed = shared(), root_seed = shared();
  if (comm == MPI_COMM_NULL) return;
  const Peers peers(comm);
  const int root = static_cast<int>(root_seed % static_cast<std::uint64_t>(peers.size));
  const auto seed_of = [&](int from, int to) {
    return seed + static_cast<std::uint64_t>(from * peers.size + to) * 7919;
  };
  const FarBlocks out(peers, size), in(peers, size);
  const bool alltoall = kind == 2;
  for (int block = 0; block < peers.size; ++block) {
    if (alltoall) out.fill(seed_of(peers.rank, block), block);
    if (kind == 0 && peers.rank == root) in.fill(seed_of(block, 0), block);
  }
  if (kind == 1 || kind == 3) in.fill(seed_of(peers.rank, 0), peers.rank);
  switch (kind) {
  case 0:
    MPI_Bcast(in.data(), peers.size, in.type(), root, comm);
    break;
  case 1:
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, in.data(), 1, in.type(), comm);
    break;
  case 2:
    MPI_Alltoall(out.data(), 1, out.type(), in.data(), 1, in.type(), comm);
    break;
#if MPI_VERSION >= 4
  case 3:
    allgather_far_apart(peers, in, size);
    break;
  default:
    return bcast_nothing(peers, in, root);
#endif
  }
  bool good = true;
  for (int block = 0; block < peers.size; ++block)
    good &= in.holds(seed_of(block, alltoall ? peers.rank : 0), block);
  const std::vector<std::string> names = {"bcast", "allgather", "alltoall", "allgatherv_c"};
  check(good, names[static_cast<std::size_t>(kind)] + " of blocks of " + std::to_string(size) +
                  " bytes that are 3 GiB apart");
}

} // namespace thalweg::test
