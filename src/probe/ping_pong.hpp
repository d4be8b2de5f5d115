#pragma once

#include "probe/channel.hpp"

/// Messages that two ranks send to and fro, to see how long they are under way.
namespace thalweg::probe {

/// Size of a ping; what a small message of a program may weigh.
inline constexpr Size ping_size = 32;

/// One rank's turn with one peer.
struct Turn {
  std::int64_t peer = 0, pings = 0;  ///< pings: 1 if it asks, 0 if it answers
  std::int64_t fewest = 0, most = 0; ///< samples
  Nanoseconds least = 0, budget = 0; ///< time to take
  std::int64_t one_way = 0;          ///< what must be tight: each direction, or the round trip
};

/// What the library takes, in nanoseconds. The two ends differ: one sends after a sleep, the other
/// right after it has received.
struct LibraryTime {
  double send = 0, receive = 0;
};

/// What the end that asks finds out.
struct PingReply {
  Estimate forward, backward, round_trip;
  LibraryTime library;
  Nanoseconds offset = 0; ///< of the peer's clock
};

/// Plays ping-pong with one peer after the other, as rank 0 orders it. A turn lasts until its
/// samples are tight or its time is over. @return a PingReply or a LibraryTime for each turn
Words take_turns(const Channel& channel, const Words& order);

} // namespace thalweg::probe
