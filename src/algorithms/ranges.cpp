#include "algorithms/ranges.hpp"

namespace thalweg::algorithms {

using schedule::ChunkId;
using schedule::Range;

namespace {

/// Returns the end of the run of evenly spaced chunks from `begin` on.
std::size_t end_of_run(std::span<const ChunkId> chunks, std::size_t begin) {
  std::size_t end = std::min(begin + 2, chunks.size());
  while (end < chunks.size() && chunks[end] - chunks[end - 1] == chunks[begin + 1] - chunks[begin])
    ++end;
  return end;
}

} // namespace

std::vector<Range> to_ranges(std::span<const ChunkId> chunks) {
  std::vector<Range> ranges;
  for (std::size_t begin = 0, end = 0; begin < chunks.size(); begin = end) {
    end = end_of_run(chunks, begin);
    // A longer run that begins with the second of two chunks is better left whole.
    if (end == begin + 2 && chunks[begin + 1] - chunks[begin] != 1 &&
        end_of_run(chunks, begin + 1) > begin + 3)
      end = begin + 1;
    const ChunkId stride = end > begin + 1 ? chunks[begin + 1] - chunks[begin] : 1;
    ranges.push_back({chunks[begin], static_cast<ChunkId>(end - begin), stride});
  }
  return ranges;
}

std::vector<Range> around(ChunkId first, ChunkId count, ChunkId size) {
  first %= size;
  const ChunkId straight = std::min(count, size - first);
  std::vector<Range> ranges = {{first, straight, 1}};
  if (straight < count) ranges.push_back({0, count - straight, 1});
  return ranges;
}

} // namespace thalweg::algorithms
