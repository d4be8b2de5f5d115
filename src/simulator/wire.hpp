#pragma once

#include "simulator/event_queue.hpp"
#include "simulator/workload.hpp"

namespace thalweg::simulator {

/// Carries messages from host to host. A connection gets one message at a time; the wire pushes its
/// `sent` event, after which the connection is idle again, and its `arrived` event.
class Wire {
public:
  virtual ~Wire() = default;
  /// When the first byte leaves, and the message that it waits for.
  struct Start {
    double time;
    MessageId blocker = no_message;
  };
  /// @param size bytes
  virtual Start start(ConnectionId connection, MessageId message, double size, double now) = 0;
  /// Handles an event of the kinds `wire`, `grow` and `pass`.
  virtual void handle(const TimedEvent& event) = 0;
  /// Called after all events at `now`.
  virtual void settle(double now) = 0;
  /// Whether the connection will go on as it does, as long as its messages do.
  [[nodiscard]] virtual bool is_steady(ConnectionId connection) const = 0;
};

} // namespace thalweg::simulator
