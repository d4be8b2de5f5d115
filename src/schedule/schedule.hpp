#pragma once

#include "collective/collective.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

/// The common form of all algorithms: transfers, each with a step.
///
/// All transfers of a step read the state before that step (reads before writes). At run time two
/// transfers conflict only if they touch the same chunk of the same register of the same rank and
/// at least one writes it; all others may overlap.
namespace thalweg::schedule {

using collective::ChunkId;
using collective::Collective;
using collective::Rank;
using units::Size;

using Step = std::int32_t;
/// The last step of a segment's transfers, and the most steps from the first segment to the last
/// one; so that the sum of both is representable.
inline constexpr Step last_step = (Step{1} << 30) - 1;
/// Where a chunk lies on a rank. Register 0 holds the rank's own data at the start and the result
/// at the end; others are scratch, empty at the start.
using Reg = std::uint8_t;

/// `count` chunks: first, first + stride, first + 2 stride, ...
struct Range {
  ChunkId first = 0, count = 1, stride = 1;
  bool operator==(const Range&) const = default;
};

/// Calls `visit` with each chunk of the ranges, in their order.
template <class Visit>
void for_each_chunk(std::span<const Range> ranges, Visit visit) {
  for (const Range& range : ranges)
    for (ChunkId i = 0; i < range.count; ++i)
      visit(range.first + i * range.stride);
}

/// What happens to the data at its destination.
enum class How : std::uint8_t {
  copy,          ///< it replaces what was there
  combine_left,  ///< result = incoming ∘ present
  combine_right, ///< result = present ∘ incoming
};

/// One message, or with from == to a local move: a set of chunk ranges. `what` points into memory
/// of the schedule, or of the sink that received it.
struct Transfer {
  Rank from = 0, to = 0;
  Step step = 0;
  How how = How::copy;
  Reg src = 0, dst = 0;
  std::span<const Range> what;
};

/// Messages in flight per rank, sends and receives each: the usual number where nothing sets it,
/// and the most that a schedule may ask for.
inline constexpr std::int32_t usual_window = 8, widest_window = 128;

/// Returns the window for a rank that has so many messages in flight: a power of two from
/// usual_window to widest_window.
std::int32_t window_for(std::int64_t messages);

/// The transfers are those of one segment; segment s repeats them at step + s * period, on its own
/// chunks. The segments divide each block evenly, the chunks divide a segment by weight.
struct Pipeline {
  std::int32_t segments = 1;
  Step period = 1;
  /// The most sends, and separately receives, that a rank has in flight: 1 for an algorithm whose
  /// messages should have a rank's port to themselves, many where messages take long to arrive. 0:
  /// usual_window.
  std::int32_t window = 0;
  bool operator==(const Pipeline&) const = default;

  /// Returns the window that a schedule gets: the one it asks for, up to `most`, or `most` if it
  /// asks for none. `most` is THALWEG_WINDOW; if it is 0 (not set), widest_window, or usual_window
  /// if the schedule asks for none.
  [[nodiscard]] std::int32_t window_within(std::int32_t most) const {
    if (window > 0) return std::min(window, most > 0 ? most : widest_window);
    return most > 0 ? most : usual_window;
  }
  /// Returns it with the segments of `segment_size` that `size` bytes are cut into: at least one,
  /// none empty if size > 0, and as many as have representable steps. With 0 it is always one.
  [[nodiscard]] Pipeline cut(Size size, Size segment_size) const {
    const Size most = last_step / std::max<Size>(period, 1);
    const Size wanted =
        segment_size > 0 ? size / segment_size + (size % segment_size != 0 ? 1 : 0) : 1;
    return {static_cast<std::int32_t>(std::clamp<Size>(wanted, 1, most)), period, window};
  }
};

/// Half-open, in units of Layout::total.
struct Interval {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};

/// Says where each chunk of each segment lies in a vector of `total` units (bytes, or elements of a
/// reduction). The vector consists of blocks of equal or given sizes; a vector collective has one
/// block. Each block is divided evenly into segments, and each segment of a block into the same
/// number of parts: chunk = block * parts + part. Boundaries are the exact ones rounded down, in
/// integers, so that all ranks cut alike: every chunk has its share rounded down or up. `weights`
/// are the weights of a block's parts; empty means equal ones.
class Layout {
public:
  /// Lays out `blocks` equal blocks.
  /// @throws std::invalid_argument if a number is too small, the chunks don't divide into blocks,
  /// or the weights (at least 0) don't sum to at least 1 and below 2^31
  Layout(std::int64_t total, std::int32_t segments, ChunkId chunks,
         std::span<const std::int32_t> weights = {}, ChunkId blocks = 1);
  /// Lays out blocks of the given sizes.
  Layout(std::span<const std::int64_t> block_sizes, std::int32_t segments, ChunkId chunks,
         std::span<const std::int32_t> weights = {});
  /// Returns the units of `count` adjacent chunks of one segment, from `first` on. O(1). With
  /// several segments the chunks must be of one block, else they aren't adjacent.
  [[nodiscard]] Interval interval(std::int32_t segment, ChunkId first, ChunkId count = 1) const;
  /// Calls `visit` with each interval that holds part of a range, in the range's order.
  template <class Visit>
  void for_each_interval(std::int32_t segment, const Range& range, Visit visit) const {
    if (range.stride != 1) {
      for (ChunkId i = 0; i < range.count; ++i)
        visit(interval(segment, range.first + i * range.stride));
    } else if (_segments == 1) {
      visit(interval(segment, range.first, range.count));
    } else {
      const ChunkId end = range.first + range.count;
      for (ChunkId first = range.first, next = 0; first < end; first = next) {
        next = std::min(end, (first / _parts + 1) * _parts);
        visit(interval(segment, first, next - first));
      }
    }
  }
  /// Returns the units of ranges of one segment, such as a transfer's, together.
  [[nodiscard]] std::int64_t size(std::int32_t segment, std::span<const Range> ranges) const {
    std::int64_t size = 0;
    for (const Range& range : ranges)
      for_each_interval(segment, range, [&](Interval part) { size += part.size(); });
    return size;
  }
  [[nodiscard]] std::int64_t total() const { return _total; }
  [[nodiscard]] std::int32_t segments() const { return _segments; }
  [[nodiscard]] ChunkId chunks() const { return _blocks * _parts; }
  /// Returns the number of chunks of a block.
  [[nodiscard]] ChunkId parts() const { return _parts; }
  /// False only if each chunk of each segment has a unit or more. O(parts + blocks).
  [[nodiscard]] bool may_have_empty_chunks() const;

private:
  void set(std::span<const std::int32_t> weights, ChunkId chunks);
  [[nodiscard]] std::int64_t boundary(std::int32_t segment, ChunkId block, ChunkId part) const;
  [[nodiscard]] Interval block(ChunkId block) const;

  std::int64_t _total;
  std::int32_t _segments;
  ChunkId _blocks, _parts = 1;
  std::vector<std::int64_t> _block_ends; ///< empty: equal blocks
  std::vector<std::int64_t> _cumulated;  ///< sums of the weights: parts + 1 entries
};

/// Receives transfers from an algorithm, in ascending (step, from, to); owns the ranges.
class Sink {
public:
  void add(Rank from, Rank to, Step step, How how, std::span<const Range> what, Reg src = 0,
           Reg dst = 0);
  void add(Rank from, Rank to, Step step, How how, Range what, Reg src = 0, Reg dst = 0);
  /// Sorts by (step, from, to), keeping the order of equals, for algorithms that don't emit in
  /// order.
  void sort();
  /// @throws std::invalid_argument if a transfer names a rank, chunk or step beyond these
  void check(Rank ranks, ChunkId chunks) const;
  /// Returns the transfers with `what` set, valid until the next add().
  [[nodiscard]] std::vector<Transfer> transfers() const;

private:
  struct Entry {
    Transfer transfer;
    std::size_t first_range, range_count;
  };
  std::vector<Entry> _entries;
  std::vector<Range> _ranges;
};

/// A whole schedule, materialised for verification, small simulations and drawings. At run time and
/// at scale a rank's own transfers are enough (algorithms::emit).
class Schedule {
public:
  /// @throws std::invalid_argument as Layout, or if the pipeline has less than 1 segment or period,
  /// its last segment would begin after last_step (with one segment, a second one), or its window
  /// is below 0
  Schedule(ChunkId chunks, Pipeline pipeline, Sink sink, std::vector<std::int32_t> weights = {});
  Schedule(const Schedule&);
  Schedule(Schedule&&) = default;
  Schedule& operator=(Schedule) = delete;

  [[nodiscard]] std::span<const Transfer> transfers() const { return _transfers; }
  /// Returns the number of chunks of one segment.
  [[nodiscard]] ChunkId chunks() const { return _chunks; }
  [[nodiscard]] Pipeline pipeline() const { return _pipeline; }
  /// Returns the weights of a block's chunks, the same for all blocks; empty: equal ones.
  [[nodiscard]] std::span<const std::int32_t> weights() const { return _weights; }
  /// Returns the layout of the collective's data, in bytes.
  [[nodiscard]] Layout layout(const Collective& collective) const {
    return layout_in(collective, _pipeline.segments);
  }
  /// Returns the layout in another number of segments.
  [[nodiscard]] Layout layout_in(const Collective& collective, std::int32_t segments) const;

private:
  ChunkId _chunks;
  Pipeline _pipeline;
  std::vector<std::int32_t> _weights;
  Sink _sink;
  std::vector<Transfer> _transfers;
};

} // namespace thalweg::schedule
