#pragma once

#include "lab/fabric.hpp"
#include "lab/lateness.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace thalweg::lab {

/// The switch's own time for a frame, measured at start-up and subtracted from the latencies.
struct OwnCost {
  Instant awake = 0; ///< from the sender's call until the switch has read the frame, while it polls
  Instant asleep = 0; ///< the same when the switch must first wake up
  Instant write = 0;  ///< from the switch's call to the receiver's network stack
};

/// What the switch has counted since it started.
struct Counters {
  explicit Counters(std::size_t hosts) : pair_bytes(hosts * hosts), pair_frames(hosts * hosts) {}

  std::array<std::uint64_t, fates> frames{}; ///< by fate
  std::uint64_t strays = 0;                  ///< frames to no host of the lab
  std::uint64_t refused = 0;                 ///< frames the receiver's interface did not take
  std::vector<std::uint64_t> pair_bytes, pair_frames; ///< delivered, [from * hosts + to]
  std::uint64_t late = 0;                             ///< frames late by over 5 % of their latency
  Lateness lateness;                                  ///< of those frames
  Instant busy = 0;                                   ///< time not spent waiting
  Instant started = 0;
};

/// A frame is late when it leaves later than planned by more than this share of its pair's latency.
inline constexpr Instant late_share = 20;

} // namespace thalweg::lab
