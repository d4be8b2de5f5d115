#include "runtime/execute/program.hpp"

#include <algorithm>
#include <cassert>
#include <unordered_set>

namespace thalweg::runtime {
namespace {

using schedule::Transfer;

bool contains(const Range& range, ChunkId chunk) {
  const ChunkId offset = chunk - range.first;
  return offset >= 0 && offset % range.stride == 0 && offset / range.stride < range.count;
}

bool overlap(Range a, Range b) {
  if (a.stride == 1 && b.stride == 1)
    return a.first < b.first + b.count && b.first < a.first + a.count;
  if (a.count > b.count) std::swap(a, b);
  for (ChunkId i = 0; i < a.count; ++i)
    if (contains(b, a.first + i * a.stride)) return true;
  return false;
}

bool overlap(std::span<const Range> a, std::span<const Range> b) {
  return std::ranges::any_of(a, [&](const Range& x) {
    return std::ranges::any_of(b, [&](const Range& y) { return overlap(x, y); });
  });
}

OwnTransfer own(const Transfer& transfer, Rank rank) {
  assert(transfer.from == rank || transfer.to == rank);
  OwnTransfer result;
  result.direction = transfer.from == transfer.to ? Direction::local
                     : transfer.from == rank      ? Direction::send
                                                  : Direction::receive;
  result.how = transfer.how;
  result.src = transfer.src;
  result.dst = transfer.dst;
  result.step = transfer.step;
  result.peer = transfer.from == rank ? transfer.to : transfer.from;
  result.what = transfer.what;
  return result;
}

/// Adds a chunk to ranges, to the last one if it continues that.
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
  for (const Transfer& transfer : _sink.transfers()) {
    if (_transfers.empty() || transfer.step != _transfers.back().step)
      _groups.push_back(static_cast<std::int32_t>(_transfers.size()));
    assert(_transfers.empty() || transfer.step >= _transfers.back().step);
    _transfers.push_back(own(transfer, rank));
    const OwnTransfer& added = _transfers.back();
    if (added.reads()) _registers = std::max(_registers, added.src + 1);
    if (added.writes()) _registers = std::max(_registers, added.dst + 1);
  }
  _groups.push_back(static_cast<std::int32_t>(_transfers.size()));
  find_readers();
  std::unordered_set<Rank> seen;
  for (auto it = _transfers.rbegin(); it != _transfers.rend(); ++it)
    if (it->direction == Direction::send) it->last_to_peer = seen.insert(it->peer).second;
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

/// Replaces the numbers of the blocks by their places in blocks().
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

void Program::find_readers() {
  for (std::size_t group = 0; group + 1 < _groups.size(); ++group)
    for (std::int32_t i = _groups[group]; i < _groups[group + 1]; ++i) {
      OwnTransfer& writer = _transfers[static_cast<std::size_t>(i)];
      if (!writer.writes()) continue;
      for (std::int32_t j = _groups[group]; j < _groups[group + 1]; ++j) {
        const OwnTransfer& reader = _transfers[static_cast<std::size_t>(j)];
        if (i != j && reader.reads() && reader.src == writer.dst &&
            overlap(reader.what, writer.what))
          writer.last_reader = j;
      }
    }
}

bool Expansion::later(const Cursor& a, const Cursor& b) {
  return a.at != b.at ? a.at > b.at : a.segment > b.segment;
}

void Expansion::start(const Program& program, std::int32_t segments) {
  _program = &program;
  _segments = segments;
  _offset = 0;
  _cursors.clear();
  // Ascending steps are a heap already.
  for (std::size_t group = 0; group + 1 < program.groups().size(); ++group)
    _cursors.push_back({program.transfers()[static_cast<std::size_t>(program.groups()[group])].step,
                        0, static_cast<std::int32_t>(group)});
}

Expansion::Item Expansion::front() const {
  const Cursor& cursor = _cursors.front();
  return {cursor.at, cursor.segment,
          _program->groups()[static_cast<std::size_t>(cursor.group)] + _offset};
}

void Expansion::pop() {
  Cursor& cursor = _cursors.front();
  const auto group = static_cast<std::size_t>(cursor.group);
  if (++_offset < _program->groups()[group + 1] - _program->groups()[group]) return;
  _offset = 0;
  std::ranges::pop_heap(_cursors, later);
  Cursor& next = _cursors.back();
  next.at += _program->period();
  if (++next.segment < _segments)
    std::ranges::push_heap(_cursors, later);
  else
    _cursors.pop_back();
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
