#pragma once

#include "simulator/simulator.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace thalweg::simulator {

/// Times of very many trees for one problem, each as the fast simulation of its schedule: bcast and
/// scatter go down the tree, reduce and gather up it, unsegmented; a node serves its children one
/// after the other in the order in which they joined, or the other way round if they serve it; a
/// scatter's or gather's message carries the blocks of a whole subtree.
///
/// The same rules as Engine, Executor and FifoWire, in the same order even of simultaneous events,
/// without a schedule: what those look up for messages of any kind is here what a tree has.
/// Evaluations allocate nothing. O(ranks log ranks) each.
class TreeTime {
public:
  /// Keeps a reference to the problem's network. Of the options, library and window count.
  /// @throws std::invalid_argument if the collective isn't bcast, reduce, scatter or gather, or as
  /// simulate()
  TreeTime(const Problem& problem, const Options& options);

  /// @param order the ranks as they join the tree, the root first
  /// @param parents rank -> parent, no_rank at the root
  Time operator()(std::span<const Rank> order, std::span<const Rank> parents);

private:
  enum class Kind : std::uint8_t { ready, request, sent, wire, arrived, received };
  struct Event {
    double time;
    std::uint32_t sequence; ///< equal times: in the order in which they were pushed
    Rank message;
    Kind kind;
    bool operator<(const Event& other) const { // of a heap: the latest first
      return time > other.time || (time == other.time && sequence > other.sequence);
    }
  };
  /// That to or from the parent; of the root none.
  struct Message {
    Rank from, to;
    network::HostId from_host, to_host;
    double bytes;
    double latency;
    double left;        ///< when its last byte leaves
    std::int32_t reads; ///< it still waits for before it can be sent
    Rank next;          ///< that may be combined once this one is; or no_rank
    bool writable;      ///< what it is combined with is in place
    bool large;         ///< it waits for a handshake
    bool in_window, posted, requested, has_arrived, is_sent, is_received;
  };
  /// A rank's way through its operations: before its sends a receive from above, or after its
  /// receives a send.
  struct Node {
    std::int32_t first, children; ///< where its children are
    std::int32_t operations, next, lowest;
    std::int32_t sends, receives; ///< in the window and incomplete
    bool has_parent;              ///< to whom or from whom there is a message
  };
  struct Port {
    double free, rate;
  };
  struct Operation {
    Rank message;
    bool send;
  };
  struct Post {
    Rank message;
    std::uint8_t side; ///< 0 send, 1 receive, 2 write
  };

  void prepare(std::span<const Rank> order, std::span<const Rank> parents);
  void measure(std::span<const Rank> order, std::span<const Rank> parents);
  void connect(Rank rank, Rank parent);
  void run();
  void handle(const Event& event);
  void advance(Rank rank);
  [[nodiscard]] bool is_full(Rank rank);
  [[nodiscard]] Operation operation(Rank rank, std::int32_t at) const;
  void release(Rank message);
  void handle_posts(double now);
  void post_send(Rank message, double now);
  void flow(Rank message, double now);
  void pass_arrival(Rank message, double now);
  void receive_if_possible(Rank message, double now);
  double serve(std::size_t port, double bytes, double begin);
  double occupy_cpu(network::HostId host, double duration, double now);
  void push(double time, Kind kind, Rank message);
  [[nodiscard]] bool is_limited(std::size_t port) const { return _ports[port].rate < unlimited; }

  static constexpr double unlimited = std::numeric_limits<double>::infinity();

  const network::Network& _network;
  network::Placement _placement;
  collective::Collective _collective;
  network::MessageCost _cost;
  int _window;
  std::int32_t _longest_window;
  bool _down, _blocks, _skip_empty;
  std::size_t _hosts;
  std::vector<Port> _ports; ///< egress, ingress and CPU of the hosts, then trunks: as Ports
  std::vector<std::int32_t> _trunk_set; ///< by pair of hosts; empty if there are no trunks
  std::vector<std::vector<std::size_t>> _trunk_sets;

  std::vector<Message> _messages;
  std::vector<Node> _nodes;
  std::vector<Rank> _children;
  std::vector<double> _bytes; ///< by rank: of its subtree
  std::vector<double> _cpu_free;
  std::vector<Event> _heap;
  std::vector<Post> _posts;
  std::uint32_t _sequence = 0;
  double _exit = 0;
};

} // namespace thalweg::simulator
