#pragma once

#include "algorithms/algorithm.hpp"

namespace thalweg::algorithms {

/// Returns the segment sizes worth trying, best guesses first, for messages that carry 1 / `part`
/// of a segment and up to `blocks` blocks: several that make at least two segments, mostly ones
/// that the MPI library sends without a handshake, and one without segments. Short data has only
/// one candidate.
std::vector<Parameters> segmented(const Problem& problem, Size part = 1, Size blocks = 1);

/// Returns the bytes of the messages that long data is cut into: as many as the MPI library sends
/// without a handshake, but at most 64 KiB, or a pipeline of them would take long to fill; also 64
/// KiB if nearly every message has a handshake.
[[nodiscard]] Size message_size(const Problem& problem);

/// Returns the first `count` of the candidates of segmented(), and the one without segments.
std::vector<Parameters> first_of(std::vector<Parameters> candidates, std::size_t count);

/// Returns Skeleton::window for an algorithm whose source lets a rank send one message at a time,
/// so that each has the port to itself. Segments are meant to overlap, so with segments the usual
/// window applies.
[[nodiscard]] inline std::int32_t one_at_a_time(const Parameters& parameters) {
  return parameters.segment_size > 0 ? 0 : 1;
}

} // namespace thalweg::algorithms
