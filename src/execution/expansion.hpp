#pragma once

#include "execution/operations.hpp"

namespace thalweg::execution {

/// Iterates over a rank's operations of all segments in the order that all ranks keep: by (step +
/// segment * period, segment, from, to). O(1) per operation.
///
/// A group, the operations of one step, repeats every `period` steps with the next segment. So the
/// groups that have come once wait in a queue in the order of their repetition, and the others in
/// the order of their steps. If two groups are due at the same time, the one that comes for the
/// first time goes first, since its segment is lower.
class Expansion {
public:
  struct Cursor {
    std::int32_t group, segment;
  };

  /// @param queue memory for as many cursors as the rank has groups; none for one segment
  /// The operations must outlive the expansion.
  void start(const Operations& operations, std::int32_t rank, const schedule::Pipeline& pipeline,
             std::span<Cursor> queue);
  [[nodiscard]] bool done() const { return _operation == _end; }
  /// Returns the number of segments of which at least one operation has come, or is next.
  [[nodiscard]] std::int32_t begun() const { return _begun; }
  [[nodiscard]] std::int32_t segments() const { return _pipeline.segments; }
  /// Leaves out the last segments, of which at least one that hasn't begun must remain.
  void leave_out_last(std::int32_t segments);
  /// Returns the next operation. Requires !done().
  [[nodiscard]] Item front() const { return {_operation, _current.segment}; }
  void pop() {
    if (++_operation == _end) open_next();
  }

private:
  [[nodiscard]] std::int64_t step(Cursor cursor) const {
    return _groups[index(cursor.group)].step + std::int64_t{cursor.segment} * _pipeline.period;
  }
  void open_next();
  void open(Cursor cursor);

  std::span<const Operations::Group> _groups;
  schedule::Pipeline _pipeline;
  std::span<Cursor> _queue; ///< a ring
  std::size_t _head = 0, _queued = 0;
  std::int32_t _pending = 0; ///< first group that hasn't come yet
  std::int32_t _begun = 1;
  Cursor _current{};
  OperationId _operation = 0, _end = 0; ///< of the current group
};

} // namespace thalweg::execution
