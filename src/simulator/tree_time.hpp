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
  /// Keeps a reference to the problem's network. Of the options, the window counts.
  /// @throws std::invalid_argument if the collective isn't bcast, reduce, scatter or gather, if
  /// ranks enter at different times, or as simulate()
  TreeTime(const Problem& problem, const SimulationOptions& options);

  /// @param order the ranks as they join the tree, the root first
  /// @param parents rank -> parent, no_rank at the root
  Time operator()(std::span<const Rank> order, std::span<const Rank> parents);

private:
  enum class Kind : std::uint8_t { ready, request, sent, wire, arrived, received };
  /// What happens to a message. Equal times: in the order in which they were pushed, which times
  /// tell too of those for which no event was needed.
  struct Event {
    double time, pushed;
    std::uint64_t key; ///< order of the push, message, kind: from the highest bits on
    [[nodiscard]] Rank message() const { return static_cast<Rank>(key >> 3 & 0xffffff); }
    [[nodiscard]] Kind kind() const { return static_cast<Kind>(key & 7); }
    /// Without branches, which nobody could predict.
    bool operator<(const Event& other) const {
      const auto is = [](bool truth) { return static_cast<unsigned>(truth); };
      const unsigned same = is(pushed == other.pushed) & is(key < other.key);
      const unsigned later = is(pushed < other.pushed) | same;
      return (is(time < other.time) | (is(time == other.time) & later)) != 0;
    }
  };
  /// Earliest first. What is pushed is often what comes next: it is kept apart.
  class Queue {
  public:
    void clear() {
      _heap.clear();
      _sequence = 0;
      _has_first = false;
    }
    /// @param now or when else it would have been pushed
    void push(double now, double time, Kind kind, Rank message);
    void skip() { ++_sequence; } ///< as if something had been pushed
    [[nodiscard]] bool empty() const { return !_has_first && _heap.empty(); }
    Event pop();

  private:
    void sift_up(std::size_t hole, Event event);
    Event pop_heap();

    std::vector<Event> _heap; ///< the children of i are 4 i + 1 ... 4 i + 4
    std::uint64_t _sequence = 0;
    Event _first{}; ///< earlier than the heap's
    bool _has_first = false;
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
  /// Through the receiver's ports, at which the first byte is at `now`.
  void pass_arrival(Rank message, double now);
  void receive_if_possible(Rank message, double now);
  double serve(std::size_t port, double bytes, double begin);
  double occupy_cpu(network::HostId host, double duration, double now);
  [[nodiscard]] bool is_limited(std::size_t port) const { return _ports[port].rate < unlimited; }

  static constexpr double unlimited = std::numeric_limits<double>::infinity();

  const network::Network& _network;
  network::Placement _placement;
  collective::Collective _collective;
  network::MessageCost _cost;
  int _window;
  std::int32_t _longest_window;
  bool _down, _blocks, _skip_empty;
  /// A host has one rank, and receives one message before anything else passes its ports.
  bool _one_arrival;
  std::size_t _hosts;
  std::vector<Port> _ports; ///< egress, ingress and CPU of the hosts, then trunks: as Ports
  std::vector<std::int32_t> _trunk_set; ///< by pair of hosts; empty if there are no trunks
  std::vector<std::vector<std::size_t>> _trunk_sets;

  std::vector<Message> _messages;
  std::vector<Node> _nodes;
  std::vector<Rank> _children;
  std::vector<double> _bytes; ///< by rank: of its subtree
  std::vector<double> _cpu_free;
  Queue _queue;
  std::vector<Post> _posts;
  double _exit = 0;
};

} // namespace thalweg::simulator
