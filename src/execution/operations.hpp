#pragma once

#include "schedule/schedule.hpp"
#include "units/index.hpp"

#include <cstdint>
#include <span>
#include <vector>

/// The rules by which ranks carry out a schedule, without time and transport (executor.hpp).
namespace thalweg::execution {

using collective::ChunkId;
using collective::Rank;
using schedule::Reg;
using schedule::Step;
using schedule::Transfer;

enum class Direction : std::uint8_t { send, receive, local };

/// Index in Operations.
using OperationId = std::int32_t;
inline constexpr OperationId no_operation = -1;

/// A rank's part in a transfer; it represents the same part in every segment.
struct Operation {
  Direction direction = Direction::send;
  std::int32_t rank = 0;     ///< index of the rank in Operations
  std::int32_t transfer = 0; ///< index of the transfer
  std::int32_t queue = -1;   ///< for a send: the common queue of all sends from one rank to another
  std::int32_t reads = 0, writes = 0; ///< number of waits before it reads, and writes

  [[nodiscard]] bool does_read() const { return direction != Direction::receive; }
  [[nodiscard]] bool does_write() const { return direction != Direction::send; }
};

/// An operation in one segment.
struct Item {
  OperationId operation = no_operation;
  std::int32_t segment = 0;
  bool operator==(const Item&) const = default;
};

/// A wait: `waiting` may read (or write) only after `other` has read (or written). Both belong to
/// one rank and one segment.
struct Wait {
  OperationId waiting = 0;
  bool reads = false; ///< `waiting` reads, else it writes
  OperationId other = 0;
  bool after_read = false; ///< `other` has read, else it has written
};

/// An operation that waits for another, with the fields of Wait.
struct Dependent {
  OperationId waiting = 0;
  bool reads = false, after_read = false;
};

/// The operations of one rank or of several, for one segment, and their waits: all that the
/// executor knows of a schedule. The ranks' operations follow each other; a rank's are in the order
/// (step, from, to), which all ranks keep.
class Operations {
public:
  /// Begins empty: call begin_rank() and add() for one rank after another, wait() in any order,
  /// then finish().
  Operations() = default;
  /// Takes one rank's own transfers, ascending by (step, from, to). Cost: O(chunks moved).
  Operations(std::span<const Transfer> own, Rank rank);
  /// Makes the operations of all ranks of a schedule.
  static Operations of_all(std::span<const Transfer> transfers, Rank ranks);

  /// Removes everything, but keeps the memory.
  void clear();
  void begin_rank();
  /// Adds an operation of the rank begun last. @param queue of a send
  OperationId add(Direction direction, Step step, std::int32_t transfer, std::int32_t queue = -1);
  void wait(const Wait& wait);
  void finish();

  [[nodiscard]] std::size_t size() const { return _operations.size(); }
  [[nodiscard]] std::int32_t ranks() const { return static_cast<std::int32_t>(_first.size()); }
  [[nodiscard]] std::int32_t queues() const { return _queues; }
  [[nodiscard]] const Operation& operator[](OperationId id) const { return _operations[index(id)]; }
  [[nodiscard]] std::span<const Operation> all() const { return _operations; }
  /// Returns the first operation of a rank; for the number of ranks, the end.
  [[nodiscard]] OperationId begin(std::int32_t rank) const {
    return rank < ranks() ? _first[index(rank)].operation : static_cast<OperationId>(size());
  }
  /// A rank's operations of one step; they end where the next group begins.
  struct Group {
    Step step = 0;
    OperationId begin = 0;
  };
  /// Returns the groups of a rank, followed by one that only marks the end of the last.
  [[nodiscard]] std::span<const Group> groups(std::int32_t rank) const;
  /// Returns the number of groups of all ranks.
  [[nodiscard]] std::size_t all_groups() const { return _groups.size() - 1; }
  /// Returns the groups of the rank begun last, before finish(), without the end mark.
  [[nodiscard]] std::span<const Group> last_groups() const {
    return std::span(_groups).subspan(_first.back().group);
  }
  [[nodiscard]] std::span<const Dependent> dependents(OperationId id) const {
    const auto at = index(id);
    return std::span(_dependents).subspan(_rows[at], _rows[at + 1] - _rows[at]);
  }

private:
  /// Where a rank's operations and groups begin.
  struct First {
    OperationId operation = 0;
    std::size_t group = 0;
  };

  std::vector<Operation> _operations;
  std::vector<First> _first; ///< by rank
  std::vector<Group> _groups;
  std::vector<Wait> _waits;       ///< until finish()
  std::vector<std::size_t> _rows; ///< where an operation's dependents begin, and the end
  std::vector<Dependent> _dependents;
  std::int32_t _queues = 0;
};

} // namespace thalweg::execution
