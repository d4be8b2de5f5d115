#pragma once

#include "probe/rounds.hpp"
#include "probe/statistics.hpp"

#include <optional>
#include <span>
#include <vector>

namespace thalweg::probe {

/// What two hosts that were measured against each other found out about their clocks.
struct Meeting {
  Pair pair;
  Nanoseconds offset = 0;     ///< of the second host's clock, seen from the first
  Nanoseconds round_trip = 0; ///< half of it bounds the offset's error
};

/// Offsets of hosts' clocks from rank 0's, by host; nothing where it isn't known.
using ClockOffsets = std::vector<std::optional<Nanoseconds>>;

/// Adds offsets along the meetings whose round trips have the least sum, and with it the least
/// bound of the error. O(hosts² + meetings).
ClockOffsets clock_offsets(std::size_t hosts, std::span<const Meeting> meetings);

/// Returns disjoint pairs of a host whose offset is known and one whose offset isn't, as many as
/// there are: each such round about doubles the known ones. Needs rank 0's offset.
Round next_to_align(const ClockOffsets& offsets);

} // namespace thalweg::probe
