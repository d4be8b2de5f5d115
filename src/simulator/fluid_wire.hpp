#pragma once

#include "simulator/ingress_queue.hpp"
#include "simulator/max_min.hpp"
#include "simulator/ports.hpp"
#include "simulator/wire.hpp"

namespace thalweg::simulator {

/// Connections that share ports max-min fairly, each when data leaves its sender. What comes to an
/// ingress from paths of different latencies also passes an IngressQueue. Rates change only with
/// the set of busy connections, which stays the same in a full pipeline, where one message follows
/// another.
class FluidWire final : public Wire {
public:
  /// @param initial_window bytes, 0: no slow start
  FluidWire(const Ports& ports, Size initial_window, EventQueue& queue);
  Start start(ConnectionId connection, MessageId message, double size, double now) override;
  void handle(const TimedEvent& event) override;
  void settle(double now) override;
  [[nodiscard]] bool is_steady(ConnectionId connection) const override;

private:
  struct Flow {
    MessageId message = no_message;
    double left = 0; ///< bytes of the burst, at `since`
    double since = 0, rate = 0;
    std::int32_t queue = -1;   ///< index of the receiver's ingress queue; -1: it has none
    double rest = 0;           ///< bytes of the message beyond the burst
    double window = 0;         ///< bytes per round trip; 0: no limit
    double credit = 0;         ///< rest of the window in this round
    double round = -1;         ///< begin of the round; -1: there was none
    std::uint32_t version = 0; ///< of its completion event
    bool spare = false;        ///< the last round left half of its window, or more
    bool busy = false;
    bool shares = false;  ///< shares ports with others, as far as the rates know
    bool touched = false; ///< since the last settle()
  };

  void touch(ConnectionId connection);
  void complete(ConnectionId connection, double now);
  /// Sends as much of the message as the window allows, or waits for the next round.
  void burst(ConnectionId connection, double now);
  /// Begins a round if the last one is over. Returns the round trip.
  double begin_round(ConnectionId connection, double now);
  void add_queues();
  void change_rate(ConnectionId connection, double now);
  /// Tells the ingress queue of a new rate. Returns the old one.
  double set_rate(ConnectionId connection, double rate, double now);
  void schedule(ConnectionId connection);
  [[nodiscard]] bool is_limited(ConnectionId connection) const;
  Flow& flow(ConnectionId connection) { return _flows[static_cast<std::size_t>(connection)]; }

  const Ports& _ports;
  EventQueue& _queue;
  MaxMin _max_min;
  std::vector<Flow> _flows; ///< by connection
  std::vector<ConnectionId> _touched;
  std::vector<IngressQueue> _queues;
};

} // namespace thalweg::simulator
