#pragma once

#include "collective/collective.hpp"
#include "schedule/schedule.hpp"

#include <cstdint>
#include <span>
#include <vector>

/// Runs one rank's part of a schedule, whatever carries the messages.
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

enum class Direction : std::uint8_t { send, receive, local };

/// One of a rank's own transfers; it stands for that of every segment.
struct OwnTransfer {
  Direction direction = Direction::send;
  How how = How::copy;
  Reg src = 0, dst = 0;
  Step step = 0;
  Rank peer = 0;
  std::span<const Range> what;
  std::int32_t last_reader = -1; ///< last transfer of the same step that reads what this one writes
  bool last_to_peer = false;     ///< the rank's last send to this peer, in the last segment
  [[nodiscard]] bool reads() const { return direction != Direction::receive; }
  [[nodiscard]] bool writes() const { return direction != Direction::send; }
  [[nodiscard]] bool uses(Reg reg) const {
    return (reads() && src == reg) || (writes() && dst == reg);
  }
};

/// One rank's transfers of a segment, prepared for execution: ascending by (step, from, to), as the
/// sink holds them. Independent of the size of the data.
///
/// Of all blocks of a collective it knows only those that the rank handles, and numbers them anew,
/// in their order, without gaps: chunks, layouts and registers are of these.
class Program {
public:
  /// `parts`: chunks that make up a block.
  /// Cost: O(transfers + blocks log blocks), and O(pairs) within a step that both reads and writes.
  Program(schedule::Sink sink, Rank rank, Step period, ChunkId parts);
  Program(const Program&) = delete;
  Program(Program&&) = default;
  Program& operator=(Program) = delete;

  [[nodiscard]] std::span<const OwnTransfer> transfers() const { return _transfers; }
  /// Transfers of one step are adjacent: group g is [groups()[g], groups()[g + 1]).
  [[nodiscard]] std::span<const std::int32_t> groups() const { return _groups; }
  [[nodiscard]] Step period() const { return _period; }
  struct Block {
    ChunkId id = 0;       ///< of the collective's blocks
    bool written = false; ///< in register 0
  };
  /// The blocks that the rank handles.
  [[nodiscard]] std::span<const Block> blocks() const { return _blocks; }
  /// Chunks that make up a block.
  [[nodiscard]] ChunkId parts() const { return _parts; }
  /// Of equal blocks of so many units each.
  [[nodiscard]] Layout layout(const Pipeline& pipeline, std::span<const std::int32_t> weights,
                              std::int64_t block_units) const;
  /// Of blocks() of these sizes.
  [[nodiscard]] Layout layout(const Pipeline& pipeline, std::span<const std::int32_t> weights,
                              std::span<const std::int64_t> block_units) const;
  /// Registers in use: at least one, the rank's own data.
  [[nodiscard]] int registers() const { return _registers; }

private:
  void find_blocks();
  [[nodiscard]] std::size_t index(ChunkId block) const;
  [[nodiscard]] bool is_numbered() const;
  void number();
  void find_readers();

  schedule::Sink _sink; ///< owns the ranges
  std::vector<Block> _blocks;
  ChunkId _parts;
  Rank _rank;
  std::vector<OwnTransfer> _transfers;
  std::vector<std::int32_t> _groups;
  Step _period;
  int _registers = 1;
};

/// Walks through a program's transfers of all segments in the order that all ranks keep: by
/// (step + segment × period, segment, from, to). O(log steps) per step, O(steps) memory.
class Expansion {
public:
  struct Item {
    std::int64_t at = 0; ///< step + segment × period
    std::int32_t segment = 0, transfer = 0;
  };

  void start(const Program& program, std::int32_t segments);
  [[nodiscard]] bool done() const { return _cursors.empty(); }
  /// The next transfer. Requires !done().
  [[nodiscard]] Item front() const;
  void pop();

private:
  struct Cursor {
    std::int64_t at;
    std::int32_t segment, group;
  };
  static bool later(const Cursor& a, const Cursor& b);

  const Program* _program = nullptr;
  std::int32_t _segments = 1;
  std::int32_t _offset = 0;     ///< in the first cursor's group
  std::vector<Cursor> _cursors; ///< a heap, the earliest first: one per step of the program
};

/// Where the ranges lie in a segment, in the order of the ranges; adjacent ones joined, no empty
/// ones.
void to_intervals(const Layout& layout, std::int32_t segment, std::span<const Range> what,
                  std::vector<Interval>& intervals);

} // namespace thalweg::runtime
