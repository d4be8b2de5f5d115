#pragma once

#include "simulator/ports.hpp"
#include "simulator/simulator.hpp"
#include "simulator/wire.hpp"

namespace thalweg::simulator {

/// Runs a workload by the executor's rules, with handshakes, CPUs and connections over a wire.
class Engine {
public:
  /// All arguments must outlive it.
  Engine(const Workload& workload, const Ports& ports, const network::MessageCost& cost, int window,
         Wire& wire, EventQueue& queue);

  /// When and why a message started, and when it was in place.
  struct Span {
    double start = 0, end = 0;
    MessageId cause = no_message;
  };
  /// @param entries as Problem::entries
  void run(std::span<const Time> entries);
  [[nodiscard]] const std::vector<Span>& spans() const { return _spans; }
  /// Returns the seconds of the ranks' exits.
  [[nodiscard]] const std::vector<double>& exits() const { return _exits; }

private:
  struct MessageState {
    bool posted = false;    ///< its receive is posted
    bool requested = false; ///< the handshake's request waits for it
    bool arrived = false;   ///< before its receive was posted
  };
  struct ConnectionState {
    bool busy = false;
    int granted = 0; ///< messages with an answered handshake that aren't sent yet
    std::vector<MessageId> waiting = {}; ///< ready, in order, from `next`
    std::size_t next = 0;
    ConnectionId reverse = no_connection; ///< the connection in the opposite direction
    /// Messages of the opposite direction whose answers wait behind this connection's data.
    std::vector<MessageId> unanswered = {};
  };

  void find_reverses();
  void handle(const TimedEvent& event);
  void handle_posts(double now);
  void post_send(MessageId message, double now);
  void post_receive(MessageId message, double now, MessageId cause);
  void answer(MessageId message, double now);
  void send_answer(MessageId message, double now);
  void make_ready(MessageId message, double now);
  void flow(MessageId message, double now);
  void finish_sending(MessageId message, double now);
  void arrive(MessageId message);
  void put_in_place(MessageId message, double now);
  double occupy_cpu(network::HostId host, double duration, double now);

  ConnectionState& connection(MessageId message) {
    return _connections[static_cast<std::size_t>(of(message).connection)];
  }
  const Template& of(MessageId message) const { return _workload.of(message); }
  MessageState& state(MessageId message) { return _states[static_cast<std::size_t>(message)]; }
  Span& span(MessageId message) { return _spans[static_cast<std::size_t>(message)]; }
  Size size(MessageId message) const { return _workload.sizes[static_cast<std::size_t>(message)]; }
  const Path& path(MessageId message) const { return _ports.path(of(message).connection); }

  const Workload& _workload;
  const Ports& _ports;
  network::MessageCost _cost;
  int _window;
  Wire& _wire;
  EventQueue& _queue;
  execution::Executor _executor;
  std::vector<MessageState> _states;
  std::vector<Span> _spans;
  std::vector<ConnectionState> _connections;
  std::vector<double> _cpu_free; ///< by host
  std::vector<double> _exits;
};

} // namespace thalweg::simulator
