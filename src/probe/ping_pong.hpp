#pragma once

#include "probe/channel.hpp"

/// Messages that two ranks exchange back and forth to measure their latency.
namespace thalweg::probe {

/// Size of a ping, typical of a program's small message.
inline constexpr Size ping_size = 32;

/// One rank's turn with one peer.
struct Turn {
  std::int64_t peer = 0, pings = 0;  ///< pings: 1 if it asks, 0 if it answers
  std::int64_t fewest = 0, most = 0; ///< samples
  Nanoseconds least = 0, budget = 0; ///< time to spend
  std::int64_t one_way = 0;          ///< 1 if each direction must be tight, 0 for the round trip
};

/// The library's time in nanoseconds. The two ends differ: one sends after a sleep, the other right
/// after it has received.
struct LibraryTime {
  double send = 0, receive = 0;
};

/// The results of the end that asks.
struct PingReply {
  Estimate forward, backward, round_trip;
  LibraryTime library;
  Nanoseconds offset = 0; ///< of the peer's clock
};

/// Plays ping-pong with one peer after the other, as rank 0 orders it. A turn lasts until its
/// samples are tight or its time is over. @return a PingReply or a LibraryTime for each turn
Words take_turns(const Channel& channel, const Words& order);

} // namespace thalweg::probe
