#pragma once

#include "probe/evidence.hpp"

namespace thalweg::probe {

/// Runs more, or fewer, flows through each trunk until they are just enough to fill it, which
/// finds its capacity and the fewest senders that get nearly all of it: with more senders segments
/// get lost, which makes their rate hard to tell. Trunks whose flows don't disturb each other are
/// filled at the same time. About 1.5 crowds for each trunk, fewer where several run at once.
/// @param which indices in the evidence's trunks
void fill(Evidence& evidence, const std::vector<std::size_t>& which);

} // namespace thalweg::probe
