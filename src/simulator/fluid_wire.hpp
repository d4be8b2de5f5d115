#pragma once

#include "simulator/completions.hpp"
#include "simulator/ingress_queue.hpp"
#include "simulator/max_min.hpp"
#include "simulator/narrow_ports.hpp"
#include "simulator/ports.hpp"
#include "simulator/wire.hpp"

#include <limits>

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
  static constexpr double nothing = std::numeric_limits<double>::infinity();
  struct Flow {
    MessageId message = no_message;
    double left = 0; ///< bytes of the burst, at `since`
    double since = 0, rate = 0;
    std::int32_t queue = -1; ///< index of the receiver's ingress queue; -1: it has none
    double rest = 0;         ///< bytes of the message beyond the burst
    double window = 0;       ///< bytes per round trip; 0: no limit
    double credit = 0;       ///< rest of the window in this round
    double round = -1;       ///< begin of the round; -1: there was none
    bool spare = false;      ///< the last round left half of its window, or more
    bool busy = false;
    bool shares = false;  ///< shares ports with others, as far as the rates know
    bool touched = false; ///< since the last settle()
  };

  void touch(ConnectionId connection);
  /// Completes the flows that are due.
  void complete_due(double now);
  void complete(ConnectionId connection, double now);
  /// Pushes an event for the next completion, unless one waits for that time.
  void await_next();
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
  NarrowPorts _narrow_ports;
  EventQueue& _queue;
  MaxMin _max_min;
  std::vector<Flow> _flows; ///< by connection
  std::vector<ConnectionId> _touched;
  std::vector<IngressQueue> _queues;
  Completions _completions;
  double _awaited = nothing;   ///< the time of the event for the next completion
  std::uint32_t _awaiting = 0; ///< its version
};

} // namespace thalweg::simulator
