#pragma once

#include "algorithms/algorithm.hpp"

namespace thalweg::algorithms {

/// The segment sizes worth trying, best guesses first, for messages that carry a segment's
/// `part`-th part, of up to `blocks` blocks: several that the MPI library sends without a handshake
/// or that are larger, and that make two segments or more, and no segments at all. One candidate if
/// the data is short.
std::vector<Parameters> segmented(const Problem& problem, Size part = 1, Size blocks = 1);

/// Bytes of the messages that long data is cut into: as many as the MPI library sends without a
/// handshake, but 64 KiB at most, or a pipeline of them takes long to fill. 64 KiB also where
/// nearly every message has a handshake.
[[nodiscard]] Size message_size(const Problem& problem);

/// The first `count` of candidates that segmented() lists, and no segments at all.
std::vector<Parameters> first_of(std::vector<Parameters> candidates, std::size_t count);

/// Skeleton::window of an algorithm whose source lets a rank send one message at a time, each with
/// the port to itself. Segments are there to overlap, so in segments it is the executor's.
[[nodiscard]] inline std::int32_t one_at_a_time(const Parameters& parameters) {
  return parameters.segment_size > 0 ? 0 : 1;
}

} // namespace thalweg::algorithms
