#pragma once

#include "simulator/ports.hpp"
#include "simulator/traffic.hpp"
#include "simulator/wire.hpp"

namespace thalweg::simulator {

/// Ports that serve one message after the other, cut through: a message enters the next port with
/// its first byte. O(1) per message.
class FifoWire final : public Wire {
public:
  /// @param traffic of earlier calls, to which this one's is added; may be null
  FifoWire(const Ports& ports, const Workload& workload, EventQueue& queue, Traffic* traffic);
  Start start(ConnectionId connection, MessageId message, double size, double now) override;
  void handle(const TimedEvent& event) override;
  void settle(double) override {}
  [[nodiscard]] bool is_steady(ConnectionId) const override { return true; }

private:
  struct PortState {
    double free = 0;
    MessageId last = no_message;
  };
  std::uint32_t keep(double left);
  /// Serves the message in turn, no earlier than `begin`. Returns when it has passed.
  double serve(PortId port, MessageId message, double size, double begin);
  /// Returns when the last byte has left for a connection, which begins with its first at `begin`.
  double send(ConnectionId connection, double bytes, double begin);

  const Ports& _ports;
  const Workload& _workload;
  EventQueue& _queue;
  Traffic* _traffic;
  std::vector<Occupancy*> _connections; ///< of the traffic, if there is any, by connection
  std::vector<PortState> _states;
  /// When the last byte leaves, of messages on their way to an arrival port. Each has a slot, whose
  /// index its event carries.
  std::vector<double> _left;
  std::vector<std::uint32_t> _free_slots;
};

} // namespace thalweg::simulator
