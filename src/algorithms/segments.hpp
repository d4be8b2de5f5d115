#pragma once

#include "algorithms/algorithm.hpp"

namespace thalweg::algorithms {

/// The segment sizes worth trying, best guesses first, for messages that carry a segment's
/// `part`-th part: several that MPI libraries send without a handshake and that make two segments
/// or more, and no segments at all. One candidate if the data is short.
std::vector<Parameters> segmented(const Problem& problem, Size part = 1);

} // namespace thalweg::algorithms
