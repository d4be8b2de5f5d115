#pragma once

#include "probe/statistics.hpp"

/// How long a stream must be for its rate to be known.
namespace thalweg::probe {

/// A stream's messages.
struct Pace {
  std::int64_t count = 0;
  Size size = 0;
};

/// Returns the messages that carry about `bytes`. They are eager: messages that wait for a
/// handshake may overtake each other, and arrive all at the end. Where hardly any message is eager
/// they are as large as if all were, since few wait at the same time.
/// @param pieces the least number of messages, if they aren't too small then
Pace pace_for(double bytes, Size eager_limit, Size pieces = 16);
/// The limits of a stream's bytes. 50 Gbit/s with a round trip of 100 ms need 3 GB.
inline constexpr double fewest_bytes = 192e3, most_bytes = 4e9;

/// Returns for how long after its first message a cold stream may be unsteady.
Nanoseconds slow_start(Nanoseconds round_trip);
/// Returns how long the steady part of a stream with this round trip must last.
/// @param dilation the network is this much slower than its un-dilated time
Nanoseconds long_enough(Nanoseconds round_trip, double dilation);
/// Returns how long the streams of a crowd must flow: they start at the same time, but arrive and
/// end at different times.
Nanoseconds long_enough_for_crowd(Nanoseconds round_trip, double dilation);

} // namespace thalweg::probe
