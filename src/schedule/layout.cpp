#include "schedule/schedule.hpp"

#include <cassert>
#include <limits>
#include <stdexcept>
#include <string>

namespace thalweg::schedule {
namespace {

/// ⌊total · part / whole⌋ for part ≤ whole < 2^31, without overflow: total is split into
/// quotient · whole + remainder first.
std::int64_t share(std::int64_t total, std::int64_t part, std::int64_t whole) {
  return total / whole * part + total % whole * part / whole;
}

} // namespace

Layout::Layout(std::int64_t total, std::int32_t segments, ChunkId chunks,
               std::span<const std::int32_t> weights)
    : _total(total), _segments(segments), _chunks(chunks) {
  if (total < 0 || segments < 1 || chunks < 1)
    throw std::invalid_argument("a layout needs at least 0 units, 1 segment and 1 chunk, not " +
                                std::to_string(total) + ", " + std::to_string(segments) + " and " +
                                std::to_string(chunks));
  if (weights.empty()) return;
  if (weights.size() != static_cast<std::size_t>(chunks))
    throw std::invalid_argument(std::to_string(chunks) + " chunks need as many weights, not " +
                                std::to_string(weights.size()));
  _cumulated.reserve(weights.size() + 1);
  _cumulated.push_back(0);
  for (const std::int32_t weight : weights) {
    if (weight < 0)
      throw std::invalid_argument("the weight " + std::to_string(weight) +
                                  " of a chunk is below 0");
    _cumulated.push_back(_cumulated.back() + weight);
  }
  if (_cumulated.back() < 1 || _cumulated.back() > std::numeric_limits<std::int32_t>::max())
    throw std::invalid_argument("the weights of the chunks sum to " +
                                std::to_string(_cumulated.back()) +
                                ": must be at least 1 and below 2^31");
}

Interval Layout::interval(std::int32_t segment, ChunkId first, ChunkId count) const {
  assert(segment >= 0 && segment < _segments);
  assert(first >= 0 && count >= 0 && count <= _chunks - first);
  const std::int64_t begin = share(_total, segment, _segments);
  const std::int64_t units = share(_total, std::int64_t{segment} + 1, _segments) - begin;
  const auto boundary = [&](ChunkId chunk) {
    if (_cumulated.empty()) return begin + share(units, chunk, _chunks);
    return begin + share(units, _cumulated[static_cast<std::size_t>(chunk)], _cumulated.back());
  };
  return {boundary(first), boundary(first + count)};
}

} // namespace thalweg::schedule
