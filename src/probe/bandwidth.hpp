#pragma once

#include "probe/coordinator.hpp"
#include "probe/flows.hpp"
#include "probe/latency.hpp"

#include <cmath>

namespace thalweg::probe {

/// On the wall clock. Where the error is infinite, the rate is inferred.
struct Bandwidths {
  Matrix<Rate> rate;
  Matrix<float> error;
  [[nodiscard]] bool measured(HostId from, HostId to) const {
    return std::isfinite(error(from, to));
  }
};

/// A stream's messages.
struct Pace {
  std::int64_t count = 0;
  Size size = 0;
};

/// The messages that carry about `bytes`. They are eager: messages that wait for a handshake may
/// overtake each other, and arrive all at the end.
Pace pace_for(double bytes, Size eager_limit);

/// Bandwidth of single flows, one per ordered pair of sites at a time: a stream of messages per
/// flow, longer until its steady part lasts long enough against the round trip and is steady. When
/// `share` of the budget is spent, the pairs left are inferred (flows.hpp).
Bandwidths measure_bandwidth(Coordinator& coordinator, const Latencies& latencies,
                             const Sites& sites, Size eager_limit, double share);

/// How long after its first message a cold stream may not be steady.
Nanoseconds slow_start(Nanoseconds round_trip);

/// How long the steady part of a stream with this round trip must last.
Nanoseconds long_enough(const Coordinator& coordinator, Nanoseconds round_trip);

} // namespace thalweg::probe
