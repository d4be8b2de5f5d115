#pragma once

#include "message_executor.hpp"
#include "network/network.hpp"

#include <cstdint>
#include <deque>
#include <queue>
#include <simgrid/s4u.hpp>
#include <vector>

/// A schedule's messages on a platform of SimGrid: one S4U actor per rank and one per connection.
///
/// MessageExecutor decides the order of each rank's operations, as in our simulator;
/// SimGrid decides their times. Modelled besides SimGrid's network:
/// - the messages of an ordered pair of ranks flow one after the other. A message's bytes leave,
///   and are all there a latency later: the next one needn't wait for that;
/// - a message above MessageCost::eager_limit first goes through a handshake, behind the data in
///   the other direction on its connection, as simulator.hpp says;
/// - a rank's CPU: it sleeps for `send`, `receive` and combining, and handles nothing meanwhile,
///   even no handshake (which in our simulator the CPU doesn't delay).
/// Not modelled: slow start (Network::initial_window), `per_byte` but of local moves, several ranks
/// on a host.
namespace thalweg::bench {

using simulator::ConnectionId;
using simulator::MessageId;

/// What happens to a rank, in order of time.
class Inbox {
public:
  enum class Kind : std::uint8_t {
    post_send,
    post_receive,
    write,   ///< what has arrived or is local can be put in place
    request, ///< of a handshake
    ready,   ///< a message may flow
    sent,    ///< a message's last byte has left
    arrived, ///< a message's last byte is here
  };
  struct Event {
    double time; ///< seconds; when it happens
    std::uint64_t sequence;
    Kind kind;
    MessageId message;
  };
  /// From any actor; `time` isn't past.
  void put(double time, Kind kind, MessageId message);
  /// For the rank: sleeps until the earliest event happens.
  Event take();

private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.time > b.time || (a.time == b.time && a.sequence > b.sequence);
    }
  };
  std::priority_queue<Event, std::vector<Event>, Later> _events;
  std::uint64_t _sequence = 0;
  bool _asleep = false;
  simgrid::s4u::SemaphorePtr _bell = simgrid::s4u::Semaphore::create(0);
};

/// One replay of all messages. Rank r is on hosts[r].
class Replay {
public:
  Replay(const simulator::Workload& workload, const network::Network& network,
         const network::MessageCost& cost, int window, std::vector<simgrid::s4u::Host*> hosts);

  /// Runs SimGrid's engine to the end.
  /// @return seconds until the last exit, all ranks entering at 0
  /// @throws std::runtime_error if not all messages got through
  double run(const simgrid::s4u::Engine& engine);

private:
  struct MessageState {
    bool posted = false; ///< its receive
    bool requested = false;
    bool arrived = false; ///< before its receive was posted
  };
  struct Connection {
    std::int64_t left = 0;            ///< messages that aren't sent yet
    std::deque<MessageId> ready = {}; ///< also that which flows
    int granted = 0;                  ///< handshakes answered, of messages that aren't sent yet
    ConnectionId reverse = simulator::no_connection;
    std::vector<MessageId> unanswered = {}; ///< of the reverse: answered when this one is idle
    simgrid::s4u::SemaphorePtr bell = simgrid::s4u::Semaphore::create(0);
  };

  void find_reverses();
  void count_messages();
  void start_actors();
  /// The life of a rank, and of a connection.
  void go_through(collective::Rank rank);
  void carry(ConnectionId connection);

  /// All by the rank that it happens to.
  void handle(const Inbox::Event& event);
  void post_send(MessageId message);
  void make_ready(MessageId message);
  void answer(MessageId message);
  void send_answer(MessageId message);
  void finish_sending(MessageId message);
  void arrive(MessageId message);
  void put_in_place(MessageId message);
  void complete(collective::Rank rank);
  void hand_out_posts();

  [[nodiscard]] const simulator::Template& of(MessageId message) const {
    return _workload.of(message);
  }
  MessageState& state(MessageId message) { return _states[static_cast<std::size_t>(message)]; }
  Connection& connection(ConnectionId id) { return _connections[static_cast<std::size_t>(id)]; }
  Inbox& inbox(collective::Rank rank) { return _inboxes[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] units::Size size(MessageId message) const {
    return static_cast<units::Size>(_workload.size(message));
  }
  [[nodiscard]] double latency(collective::Rank from, collective::Rank to) const {
    return _network.latency(from, to).value();
  }

  const simulator::Workload& _workload;
  const network::Network& _network;
  network::MessageCost _cost;
  std::vector<simgrid::s4u::Host*> _hosts;
  MessageExecutor _executor;
  std::vector<MessageState> _states;
  std::vector<Connection> _connections;
  std::vector<Inbox> _inboxes;
  std::vector<std::int64_t> _left; ///< operations that aren't complete, by rank
  double _last_exit = 0;
};

} // namespace thalweg::bench
