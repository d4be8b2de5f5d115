#include "runtime/execute/program.hpp"

#include <algorithm>
#include <cassert>

namespace thalweg::runtime {
namespace {

/// Adds a chunk to ranges, to the last range if the chunk continues it.
void append(std::vector<Range>& ranges, ChunkId chunk) {
  if (!ranges.empty()) {
    Range& last = ranges.back();
    const ChunkId stride = last.count == 1 ? chunk - last.first : last.stride;
    if (stride > 0 && chunk == last.first + last.count * stride) {
      last.stride = stride;
      ++last.count;
      return;
    }
  }
  ranges.push_back({chunk, 1, 1});
}

} // namespace

Program::Program(schedule::Sink sink, Rank rank, Step period, ChunkId parts)
    : _sink(std::move(sink)), _parts(parts), _rank(rank), _period(period) {
  assert(period > 0 && parts > 0);
  find_blocks();
  if (!is_numbered()) number();
  _transfers = _sink.transfers();
  _operations = execution::Operations(_transfers, rank);
  for (const Transfer& transfer : _transfers) {
    assert(transfer.from == rank || transfer.to == rank);
    if (transfer.from == rank) _registers = std::max(_registers, transfer.src + 1);
    if (transfer.to == rank) _registers = std::max(_registers, transfer.dst + 1);
  }
}

void Program::find_blocks() {
  std::vector<ChunkId> touched, written;
  for (const Transfer& transfer : _sink.transfers())
    for (const Range& range : transfer.what) {
      const ChunkId last = range.first + (range.count - 1) * range.stride;
      // One chunk of each block is enough.
      const ChunkId stride = range.stride == 1 ? _parts : range.stride;
      for (ChunkId chunk = range.first; chunk / _parts <= last / _parts; chunk += stride) {
        touched.push_back(chunk / _parts);
        if (transfer.to == _rank && transfer.dst == 0) written.push_back(chunk / _parts);
      }
    }
  for (auto* blocks : {&touched, &written}) {
    std::ranges::sort(*blocks);
    blocks->erase(std::unique(blocks->begin(), blocks->end()), blocks->end());
  }
  for (const ChunkId block : touched)
    _blocks.push_back({block, std::ranges::binary_search(written, block)});
}

std::size_t Program::index(ChunkId block) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(_blocks, block, {}, &Block::id) -
                                  _blocks.begin());
}

bool Program::is_numbered() const {
  return _blocks.empty() || _blocks.back().id + 1 == static_cast<ChunkId>(_blocks.size());
}

/// Replaces the numbers of the blocks by their positions in blocks().
void Program::number() {
  schedule::Sink numbered;
  std::vector<Range> what;
  for (const Transfer& t : _sink.transfers()) {
    what.clear();
    for (const Range& range : t.what)
      for (ChunkId i = 0; i < range.count; ++i) {
        const ChunkId chunk = range.first + i * range.stride;
        append(what, static_cast<ChunkId>(index(chunk / _parts)) * _parts + chunk % _parts);
      }
    numbered.add(t.from, t.to, t.step, t.how, what, t.src, t.dst);
  }
  _sink = std::move(numbered);
}

Layout Program::layout(const Pipeline& pipeline, std::span<const std::int32_t> weights,
                       std::int64_t block_units) const {
  const auto blocks = static_cast<ChunkId>(std::max<std::size_t>(1, _blocks.size()));
  return {blocks * block_units, pipeline.segments, blocks * _parts, weights, blocks};
}

Layout Program::layout(const Pipeline& pipeline, std::span<const std::int32_t> weights,
                       std::span<const std::int64_t> block_units) const {
  assert(block_units.size() == _blocks.size());
  if (_blocks.empty()) return layout(pipeline, weights, 0);
  const auto chunks = static_cast<ChunkId>(_blocks.size()) * _parts;
  return {block_units, pipeline.segments, chunks, weights};
}

void to_intervals(const Layout& layout, std::int32_t segment, std::span<const Range> what,
                  std::vector<Interval>& intervals) {
  intervals.clear();
  const auto add = [&](Interval interval) {
    if (interval.size() == 0) return;
    if (!intervals.empty() && intervals.back().end == interval.begin)
      intervals.back().end = interval.end;
    else
      intervals.push_back(interval);
  };
  for (const Range& range : what)
    layout.for_each_interval(segment, range, add);
}

} // namespace thalweg::runtime
