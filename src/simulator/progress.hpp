#pragma once

#include "simulator/workload.hpp"

/// What a running simulation knows of its messages.
namespace thalweg::simulator {

/// Seconds that aren't known yet.
inline constexpr double unknown = -1;

/// When and why a message started, and when it was in place.
struct Span {
  double start = unknown, end = unknown;
  double posted = unknown; ///< when its receive was posted
  MessageId cause = no_message;
  MessageId next = no_message; ///< the next message in the queue where it waits
};

/// How many messages of a transfer, one of each segment and in their order, have come how far at
/// the receiver. They keep their order, since all or none of them shake hands.
struct Frontier {
  std::int32_t posted = 0;    ///< their receives are posted
  std::int32_t requested = 0; ///< their handshakes' requests have come
  std::int32_t arrived = 0;   ///< their last bytes have come
};

} // namespace thalweg::simulator
