#pragma once

#include "simulator/max_min.hpp"
#include "simulator/wire.hpp"

namespace thalweg::simulator {

/// Connections that share ports max-min fairly. Rates are computed anew only when the set of busy
/// connections has changed: in a full pipeline one message follows another, and it doesn't.
class FluidWire final : public Wire {
public:
  /// @param initial_window bytes, 0: no slow start
  FluidWire(const Ports& ports, Size initial_window, EventQueue& queue);
  Start start(ConnectionId connection, MessageId message, Size size, double now) override;
  void handle(const TimedEvent& event) override;
  void settle(double now) override;

private:
  struct Flow {
    MessageId message = no_message;
    double left = 0; ///< bytes, at `since`
    double since = 0, rate = 0;
    double window = 0;         ///< bytes per round trip; 0: no limit
    std::uint32_t version = 0; ///< of its completion event
    bool busy = false;
    bool solved = false;  ///< whether the rates were computed with it
    bool touched = false; ///< since the last settle()
    bool growing = false; ///< a `grow` event is due
  };

  void touch(ConnectionId connection);
  void complete(ConnectionId connection, double now);
  void grow(ConnectionId connection, double now);
  void share(double now);
  void schedule(ConnectionId connection);
  [[nodiscard]] double limit(ConnectionId connection) const;
  Flow& flow(ConnectionId connection) { return _flows[static_cast<std::size_t>(connection)]; }

  const Ports& _ports;
  EventQueue& _queue;
  MaxMin _max_min;
  std::vector<Flow> _flows; ///< by connection
  std::vector<ConnectionId> _touched;
  std::vector<ConnectionId> _solved; ///< those that the rates were computed for
  std::vector<MaxMin::Flow> _shares;
  bool _limits_changed = false;
};

} // namespace thalweg::simulator
