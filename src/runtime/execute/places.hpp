#pragma once

#include "runtime/execute/transport.hpp"
#include "schedule/schedule.hpp"

#include <span>
#include <vector>

namespace thalweg::runtime {

/// Where the units of a register lie in memory: in pieces, in the program's buffers or apart.
class Places {
public:
  /// Forgets all pieces.
  void clear(std::int64_t extent) {
    _extent = extent;
    _pieces.clear();
  }
  /// Units from `begin` on, up to where the next piece begins, lie at `data`. In ascending order,
  /// the first from 0. Joined with the piece before it where they are adjacent.
  void add(std::int64_t begin, std::byte* data);
  [[nodiscard]] std::byte* address(std::int64_t unit) const {
    const Piece& piece = _pieces.size() == 1 ? _pieces.front() : piece_of(unit);
    return piece.data + (unit - piece.begin) * _extent;
  }
  /// Cuts intervals where they reach from one piece into another.
  void cut(std::vector<schedule::Interval>& intervals) const;

private:
  struct Piece {
    std::int64_t begin;
    std::byte* data; ///< of its first unit
  };
  [[nodiscard]] const Piece& piece_of(std::int64_t unit) const;

  std::int64_t _extent = 1;
  std::vector<Piece> _pieces;
};

} // namespace thalweg::runtime
