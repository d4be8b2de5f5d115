#pragma once

#include "execution/operations.hpp"

namespace thalweg::execution {

/// Finds which operations wait for which, one rank after another.
///
/// Two operations conflict if they touch the same chunk of the same register of their rank and at
/// least one writes it; all reads of a step come before its writes. It is enough that a read waits
/// for the last write before it, and a write for the last write before it and for the reads since.
/// Chunks are identified by content, not by memory: an in-place alltoall is executed on a copy of
/// its input.
class DependencyFinder {
public:
  /// Takes the transfers, which must outlive it.
  explicit DependencyFinder(std::span<const Transfer> transfers);
  /// Adds all waits of the rank whose operations were added last. O(chunks moved).
  void find(Operations& operations);

private:
  /// The accesses to a chunk of a register: its last writer, and the readers since, as a list in
  /// _readers.
  struct Place {
    std::int32_t epoch = 0; ///< the rank for which this is valid
    OperationId writer = no_operation;
    std::int32_t readers = -1;
  };
  struct Reader {
    OperationId operation;
    std::int32_t next;
  };

  Place& at(Reg reg, ChunkId chunk);
  void read(OperationId id, Operations& operations);
  void write(OperationId id, Operations& operations);
  void add(const Wait& wait, Operations& operations);
  [[nodiscard]] const Transfer& transfer(OperationId id, const Operations& operations) const {
    return _transfers[static_cast<std::size_t>(operations[id].transfer)];
  }

  std::span<const Transfer> _transfers;
  std::size_t _chunks = 0; ///< of a register
  std::vector<Place> _places;
  std::vector<Reader> _readers;
  std::int32_t _epoch = 0;
  std::int64_t _accesses = 0;       ///< reads and writes of operations so far
  std::vector<std::int64_t> _known; ///< by awaited operation: the last access that waits for it
};

} // namespace thalweg::execution
