#pragma once

#include "execution/operations.hpp"

#include <cstdint>
#include <span>
#include <vector>

/// Runs one rank's part of a schedule, for any transport of messages.
namespace thalweg::runtime {

using collective::ChunkId;
using collective::Rank;
using schedule::How;
using schedule::Interval;
using schedule::Layout;
using schedule::Pipeline;
using schedule::Range;
using schedule::Reg;
using schedule::Step;
using schedule::Transfer;

/// One rank's transfers of a segment, prepared for execution: ascending by (step, from, to), as the
/// sink holds them. Independent of the size of the data.
///
/// It knows only those blocks of a collective that the rank handles, and renumbers them in their
/// order, without gaps: chunks, layouts and registers refer to these.
class Program {
public:
  /// @param parts number of chunks of a block
  /// Cost: O(transfers + blocks log blocks + chunks moved).
  Program(schedule::Sink sink, Rank rank, Step period, ChunkId parts);
  Program(const Program&) = delete;
  Program(Program&&) = default;
  Program& operator=(Program) = delete;

  [[nodiscard]] std::span<const Transfer> transfers() const { return _transfers; }
  /// Returns the operations of transfers(), with the same indices, and their waits.
  [[nodiscard]] const execution::Operations& operations() const { return _operations; }
  [[nodiscard]] Step period() const { return _period; }
  struct Block {
    ChunkId id = 0;       ///< of the collective's blocks
    bool written = false; ///< in register 0
  };
  /// Returns the blocks that the rank handles.
  [[nodiscard]] std::span<const Block> blocks() const { return _blocks; }
  /// Returns the number of chunks of a block.
  [[nodiscard]] ChunkId parts() const { return _parts; }
  /// Returns the layout of equal blocks.
  [[nodiscard]] Layout layout(const Pipeline& pipeline, std::span<const std::int32_t> weights,
                              std::int64_t block_units) const;
  /// Returns the layout of blocks() with the given sizes.
  [[nodiscard]] Layout layout(const Pipeline& pipeline, std::span<const std::int32_t> weights,
                              std::span<const std::int64_t> block_units) const;
  /// Returns the number of registers in use: at least one, the rank's own data.
  [[nodiscard]] int registers() const { return _registers; }

private:
  void find_blocks();
  [[nodiscard]] std::size_t index(ChunkId block) const;
  [[nodiscard]] bool is_numbered() const;
  void number();

  schedule::Sink _sink; ///< owns the ranges
  std::vector<Block> _blocks;
  ChunkId _parts;
  Rank _rank;
  std::vector<Transfer> _transfers;
  execution::Operations _operations;
  Step _period;
  int _registers = 1;
};

/// Appends the intervals of the ranges in a segment, in the order of the ranges; adjacent ones are
/// joined, empty ones left out.
void to_intervals(const Layout& layout, std::int32_t segment, std::span<const Range> what,
                  std::vector<Interval>& intervals);

} // namespace thalweg::runtime
