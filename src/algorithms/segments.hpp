#pragma once

#include "algorithms/algorithm.hpp"

namespace thalweg::algorithms {

/// Returns the segment sizes worth trying, best guesses first, for messages that carry 1 / `part`
/// of a segment and up to `blocks` blocks: several below the size from which MPI libraries use a
/// handshake, with at least two segments, and one without segments. Short data has only one
/// candidate.
std::vector<Parameters> segmented(const Problem& problem, Size part = 1, Size blocks = 1);

/// Returns the first `count` of the candidates of segmented(), and the one without segments.
std::vector<Parameters> first_of(std::vector<Parameters> candidates, std::size_t count);

/// Returns Skeleton::window for an algorithm whose source lets a rank send one message at a time,
/// so that each has the port to itself. Segments are meant to overlap, so with segments the usual
/// window applies.
[[nodiscard]] inline std::int32_t one_at_a_time(const Parameters& parameters) {
  return parameters.segment_size > 0 ? 0 : 1;
}

} // namespace thalweg::algorithms
