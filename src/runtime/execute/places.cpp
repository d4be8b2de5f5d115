#include "runtime/execute/places.hpp"

#include <algorithm>
#include <cassert>

namespace thalweg::runtime {

void Places::add(std::int64_t begin, std::byte* data) {
  assert(_pieces.empty() ? begin == 0 : begin >= _pieces.back().begin);
  if (!_pieces.empty() && address(begin) == data) return;
  if (!_pieces.empty() && _pieces.back().begin == begin) _pieces.pop_back(); // it was empty
  _pieces.push_back({begin, data});
}

const Places::Piece& Places::piece_of(std::int64_t unit) const {
  const auto after = std::ranges::upper_bound(_pieces, unit, {}, &Piece::begin);
  return *std::prev(after);
}

void Places::cut(std::vector<schedule::Interval>& intervals) const {
  if (_pieces.size() == 1) return;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const auto next = std::ranges::upper_bound(_pieces, intervals[i].begin, {}, &Piece::begin);
    if (next == _pieces.end() || next->begin >= intervals[i].end) continue;
    const schedule::Interval rest{next->begin, intervals[i].end};
    intervals[i].end = next->begin;
    intervals.insert(intervals.begin() + static_cast<std::ptrdiff_t>(i) + 1, rest);
  }
}

} // namespace thalweg::runtime
