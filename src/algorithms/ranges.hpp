#pragma once

#include "schedule/schedule.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace thalweg::algorithms {

/// Returns the fewest ranges for ascending chunks that don't interleave; adjacent chunks share a
/// range where that costs no additional one. O(chunks).
std::vector<schedule::Range> to_ranges(std::span<const schedule::ChunkId> chunks);

/// Returns `count` of `size` chunks from `first` on, wrapping around: one range, or two.
std::vector<schedule::Range> around(schedule::ChunkId first, schedule::ChunkId count,
                                    schedule::ChunkId size);

} // namespace thalweg::algorithms
