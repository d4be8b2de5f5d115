#pragma once

#include "probe/coordinator.hpp"
#include "probe/flows.hpp"
#include "probe/latency.hpp"

namespace thalweg::probe {

/// On the wall clock; zero where not measured. The errors are infinite there.
struct Bandwidths {
  Matrix<Rate> rate;
  Matrix<float> error;
};

/// Sizes of the bursts that find a rate.
struct Pace {
  std::int64_t count = 4;
  Size size = 16'000;
};

/// The burst for `bytes` at most: messages small enough to be eager, and few enough to keep track of.
Pace pace_for(double bytes);

/// Bandwidth of single flows, one per ordered pair of sites at a time: a stream of messages per flow, longer
/// until its steady part lasts long enough against the round trip and is steady. When `share` of the
/// budget is spent, the pairs left are inferred (flows.hpp).
Bandwidths measure_bandwidth(Coordinator& coordinator, const Latencies& latencies, const Sites& sites,
                             double share);

/// How long the steady part of a stream with this round trip must last.
Nanoseconds long_enough(const Coordinator& coordinator, Nanoseconds round_trip);

} // namespace thalweg::probe
