#include "schedule/schedule.hpp"
#include "schedule/share.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <stdexcept>
#include <string>

namespace thalweg::schedule {

// Splits total into quotient · whole + remainder.
std::int64_t share(std::int64_t total, std::int64_t part, std::int64_t whole) {
  constexpr std::int64_t small = std::int64_t{1} << 31;
  const std::int64_t quotient = total / whole, remainder = total % whole;
  if (whole <= small) return quotient * part + remainder * part / whole;
  __extension__ using Wide = __int128;
  return quotient * part + static_cast<std::int64_t>(Wide{remainder} * part / whole);
}

Layout::Layout(std::int64_t total, std::int32_t segments, ChunkId chunks,
               std::span<const std::int32_t> weights, ChunkId blocks)
    : _total(total), _segments(segments), _blocks(blocks) {
  set(weights, chunks);
}

Layout::Layout(std::span<const std::int64_t> block_sizes, std::int32_t segments, ChunkId chunks,
               std::span<const std::int32_t> weights)
    : _total(0), _segments(segments), _blocks(static_cast<ChunkId>(block_sizes.size())) {
  for (const std::int64_t size : block_sizes) {
    if (size < 0)
      throw std::invalid_argument("the size " + std::to_string(size) + " of a block is below 0");
    _total += size;
    _block_ends.push_back(_total);
  }
  set(weights, chunks);
}

void Layout::set(std::span<const std::int32_t> weights, ChunkId chunks) {
  if (_total < 0 || _segments < 1 || chunks < 1 || _blocks < 1)
    throw std::invalid_argument("a layout needs at least 0 units, 1 segment, 1 block and 1 chunk, "
                                "not " +
                                std::to_string(_total) + ", " + std::to_string(_segments) + ", " +
                                std::to_string(_blocks) + " and " + std::to_string(chunks));
  if (chunks % _blocks != 0)
    throw std::invalid_argument(std::to_string(chunks) + " chunks don't divide into " +
                                std::to_string(_blocks) + " blocks");
  _parts = chunks / _blocks;
  if (weights.empty()) return;
  if (weights.size() != static_cast<std::size_t>(_parts))
    throw std::invalid_argument(std::to_string(_parts) + " chunks need as many weights, not " +
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

Interval Layout::block(ChunkId block) const {
  if (_block_ends.empty())
    return {share(_total, block, _blocks), share(_total, block + 1, _blocks)};
  const auto at = static_cast<std::size_t>(block);
  return {at == 0 ? 0 : _block_ends[at - 1], _block_ends[at]};
}

std::int64_t Layout::boundary(std::int32_t segment, ChunkId block, ChunkId part) const {
  const Interval whole = this->block(block);
  const std::int64_t begin = share(whole.size(), segment, _segments);
  const std::int64_t units = share(whole.size(), std::int64_t{segment} + 1, _segments) - begin;
  if (_cumulated.empty()) return whole.begin + begin + share(units, part, _parts);
  return whole.begin + begin +
         share(units, _cumulated[static_cast<std::size_t>(part)], _cumulated.back());
}

bool Layout::may_have_empty_chunks() const {
  // Rounding boundaries down takes no more from a share than its fraction.
  std::int64_t least = _total / _blocks;
  if (!_block_ends.empty())
    for (ChunkId i = 0; i < _blocks; ++i)
      least = std::min(least, block(i).size());
  least /= _segments;
  if (_cumulated.empty()) return least < _parts;
  for (std::size_t part = 1; part < _cumulated.size(); ++part)
    if (share(least, _cumulated[part] - _cumulated[part - 1], _cumulated.back()) == 0) return true;
  return false;
}

Interval Layout::interval(std::int32_t segment, ChunkId first, ChunkId count) const {
  assert(segment >= 0 && segment < _segments);
  assert(first >= 0 && count >= 0 && count <= chunks() - first);
  const std::int64_t begin =
      first < chunks() ? boundary(segment, first / _parts, first % _parts) : _total;
  if (count == 0) return {begin, begin};
  const ChunkId last = first + count - 1;
  assert(_segments == 1 || last / _parts == first / _parts);
  return {begin, boundary(segment, last / _parts, last % _parts + 1)};
}

} // namespace thalweg::schedule
