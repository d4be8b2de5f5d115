#pragma once

#include "simulator/ports.hpp"
#include "simulator/simulator.hpp"
#include "simulator/steady_state.hpp"
#include "simulator/wire.hpp"

#include <limits>

namespace thalweg::simulator {

/// Runs a workload by the executor's rules, with handshakes, CPUs and connections over a wire.
///
/// **Skipping.** A long pipeline that SteadyState finds steady is shortened in its middle: each
/// rank leaves out as many of its last segments as it would have done in the time that is skipped.
/// So that the state needs no other change, segments are counted separately at each rank, without
/// those it left out; the same message may have different numbers at its two ends.
class Engine {
public:
  /// How the exits of a shortened pipeline depend on its number of segments.
  struct Growth {
    std::vector<double> per_segment; ///< seconds by rank that a further segment adds
    std::int32_t fewer = 0;          ///< segments fewer down to which it holds; 0: it isn't known
  };

  /// All arguments must outlive it.
  /// @param skips whether steady states are skipped; for a workload of mean sizes
  Engine(const Workload& workload, const Ports& ports, const network::MessageCost& cost, int window,
         Wire& wire, EventQueue& queue, bool skips = false);

  /// Why a run ended.
  enum class End : std::uint8_t {
    finished, ///< some segments may have been left out
    too_long, ///< it takes longer than was asked for
  };
  /// When a run ends before all is done.
  struct Limits {
    /// Messages after which ranks that keep an even pace count as steady; 0: any number.
    std::int64_t until_even = 0;
    /// Messages after which what is steady is guessed, and after twice as many how it ends;
    /// 0: never.
    std::int64_t messages = 0;
    double seconds = std::numeric_limits<double>::infinity(); ///< simulated, after which it ends
  };
  /// @param entries as Problem::entries
  End run(std::span<const Time> entries, const Limits& limits);
  /// Returns when each message was sent, by its number at the sender, and when it was received, by
  /// its number at the receiver. To be called once.
  [[nodiscard]] std::vector<Span> take_spans() { return std::move(_spans); }
  /// Returns the number of messages simulated.
  [[nodiscard]] std::int64_t simulated() const { return _simulated; }
  /// Whether there are doubts about a guess of the end, or of what was skipped.
  [[nodiscard]] bool has_guessed() const { return _has_guessed; }
  /// Returns the largest Limits::messages with which the run would have been the same, as far as
  /// that is known.
  [[nodiscard]] std::int64_t guessed_after(const Limits& limits) const;
  /// Returns how the exits grow, if all that further segments add would have been skipped.
  [[nodiscard]] Growth growth() const;
  /// Returns the seconds of the ranks' exits.
  [[nodiscard]] const std::vector<double>& exits() const { return _exits; }

private:
  /// Messages that wait, linked by Span::next.
  struct MessageQueue {
    MessageId first = no_message, last = no_message;
  };
  struct ConnectionState {
    bool busy = false;
    int granted = 0;      ///< messages with an answered handshake that aren't sent yet
    MessageQueue waiting; ///< ready to flow
    ConnectionId reverse = no_connection; ///< the connection in the opposite direction
    /// Messages of the opposite direction whose answers wait behind this connection's data.
    MessageQueue unanswered;
  };

  void append(MessageQueue& queue, MessageId message);
  /// Returns the first message of a queue that isn't empty, and removes it.
  MessageId take_first(MessageQueue& queue);
  void find_reverses();
  void look_for_steady_state(double now, const Limits& limits);
  [[nodiscard]] SteadyState::Evidence evidence(const Limits& limits) const;
  /// Sets the exits to when the ranks would be done at their present pace, if that can be told.
  bool guess_exits();
  void note_guess();
  void skip(const SteadyState::Skip& skip);
  void note_growth(const SteadyState::Skip& skip);
  /// Returns the receiver's number of a message that the sender numbers, and the reverse.
  [[nodiscard]] MessageId at_receiver(MessageId message) const {
    const Template& t = of(message);
    return message +
           (skipped(t.from) - skipped(t.to)) * static_cast<MessageId>(_workload.transfers());
  }
  [[nodiscard]] MessageId at_sender(MessageId message) const {
    const Template& t = of(message);
    return message +
           (skipped(t.to) - skipped(t.from)) * static_cast<MessageId>(_workload.transfers());
  }
  [[nodiscard]] std::int32_t skipped(Rank rank) const {
    return _skipped[static_cast<std::size_t>(rank)];
  }
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
  /// Returns the transfer's state at the receiver.
  Frontier& frontier(MessageId message) { return _frontiers[_workload.transfer(message)]; }
  Span& span(MessageId message) {
    const auto at = static_cast<std::size_t>(message);
    if (at >= _spans.size()) _spans.resize(std::max(at + 1, 2 * _spans.size()));
    return _spans[at];
  }
  double size(MessageId message) const { return _workload.size(message); }
  [[nodiscard]] bool has_handshake(MessageId message) const { return of(message).handshake; }
  void enter(Rank rank);
  /// Notes that a rank can't leave the collective before `now`.
  void leave(Rank rank, double now);
  const Path& path(MessageId message) const { return _ports.path(of(message).connection); }

  const Workload& _workload;
  const Ports& _ports;
  network::MessageCost _cost;
  int _window;
  Wire& _wire;
  EventQueue& _queue;
  execution::Executor _executor;
  std::vector<Frontier> _frontiers; ///< by transfer
  std::vector<Span> _spans;
  std::vector<ConnectionState> _connections;
  std::vector<double> _cpu_free; ///< by host
  std::vector<double> _exits;
  std::optional<SteadyState> _steady_state; ///< if steady states are skipped
  std::vector<std::int32_t> _skipped;       ///< segments, by rank
  double _skipped_time = 0;
  std::vector<double> _exit_growth; ///< seconds by rank that a further segment adds to its exit
  std::vector<double> _absorbed;    ///< by rank: how much of a further segment would be skipped
  double _growth = 0;               ///< seconds that it adds to the time that is skipped
  double _fewer = std::numeric_limits<double>::infinity(); ///< segments that may be missing
  std::int64_t _simulated = 0, _next_look = 0;
  bool _has_guessed = false;
  std::int64_t _first_guess = 0; ///< after so many messages, doubtful or not; 0: none
  Rank _outside;                 ///< ranks that haven't entered
};

} // namespace thalweg::simulator
