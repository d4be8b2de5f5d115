#pragma once

#include "runtime/execute/transport.hpp"
#include "schedule/schedule.hpp"

#include <span>
#include <vector>

namespace thalweg::runtime {

/// Maps the units of a register to memory: in pieces, in the program's buffers or elsewhere.
class Places {
public:
  /// Forgets all pieces.
  void clear(std::int64_t extent) {
    _extent = extent;
    _pieces.clear();
  }
  /// Places the units from `begin` up to the next piece at `data`. Called in ascending order, first
  /// with 0. Joins the piece with the one before if they are adjacent.
  void add(std::int64_t begin, std::byte* data);
  [[nodiscard]] std::byte* address(std::int64_t unit) const {
    const Piece& piece = _pieces.size() == 1 ? _pieces.front() : piece_of(unit);
    return piece.data + (unit - piece.begin) * _extent;
  }
  /// Cuts intervals at the boundaries of pieces.
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
