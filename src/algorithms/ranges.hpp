#pragma once

#include "schedule/schedule.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace thalweg::algorithms {

/// Few ranges for these chunks, which ascend: as few as there can be without interleaving, and
/// adjacent chunks in one where that costs no range more. O(chunks).
std::vector<schedule::Range> to_ranges(std::span<const schedule::ChunkId> chunks);

/// The `count` of `size` chunks from `first` on, counted round and round: one range, or two.
std::vector<schedule::Range> around(schedule::ChunkId first, schedule::ChunkId count,
                                    schedule::ChunkId size);

} // namespace thalweg::algorithms
