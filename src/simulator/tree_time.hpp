#pragma once

#include "algorithms/cache.hpp"
#include "execution/executor.hpp"
#include "simulator/event_queue.hpp"
#include "simulator/simulator.hpp"
#include "simulator/tree_operations.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace thalweg::simulator {

/// Computes the times of very many trees for one problem, each equal to the fast simulation of its
/// schedule. Data of bcast and scatter flows down the tree, of reduce and gather up it,
/// unsegmented. A node serves its children one after the other in the order in which they joined,
/// or in the reverse order if it receives from them; a scatter's or gather's message carries the
/// blocks of a whole subtree.
///
/// Gives the common executor the operations of a tree, and follows the same rules as Engine and
/// FifoWire, with the same order of simultaneous events. Evaluations allocate nothing once memory
/// has grown to the largest tree, and cost O(ranks log ranks) each.
class TreeTime {
public:
  /// Keeps a reference to the problem's network. Uses the options' window.
  /// @throws std::invalid_argument if the collective isn't bcast, reduce, scatter or gather, if
  /// ranks enter at different times, or as simulate()
  TreeTime(const Problem& problem, const SimulationOptions& options);

  /// @param order the ranks as they join the tree, the root first
  /// @param parents rank -> parent, no_rank at the root
  Time operator()(std::span<const Rank> order, std::span<const Rank> parents);

private:
  /// What happens to a message.
  enum class MessageEvent : std::uint8_t { ready, request, sent, wire, arrived, received };
  /// An event of a message. Events of equal time happen in the order in which they were pushed;
  /// `pushed` keeps that order also where an event in between was skipped.
  struct Event {
    double time, pushed;
    std::uint64_t key; ///< from the highest bits: order of the push, message, kind
    [[nodiscard]] Rank message() const { return static_cast<Rank>(key >> 3 & 0xffffff); }
    [[nodiscard]] MessageEvent kind() const { return static_cast<MessageEvent>(key & 7); }
    /// Compares without branches, since their outcome is unpredictable.
    bool operator<(const Event& other) const {
      const auto is = [](bool truth) { return static_cast<unsigned>(truth); };
      const unsigned same = is(pushed == other.pushed) & is(key < other.key);
      const unsigned later = is(pushed < other.pushed) | same;
      return (is(time < other.time) | (is(time == other.time) & later)) != 0;
    }
  };
  class Queue {
  public:
    void clear() {
      _heap.clear();
      _sequence = 0;
    }
    /// @param now when the event is pushed, or would have been
    void push(double now, double time, MessageEvent kind, Rank message);
    void skip() { ++_sequence; } ///< as if something had been pushed
    [[nodiscard]] bool empty() const { return _heap.empty(); }
    Event pop() { return _heap.pop(); }

  private:
    EventHeap<Event> _heap;
    std::uint64_t _sequence = 0;
  };
  /// The message between a rank and its parent; the root has none.
  struct Message {
    Rank from, to;
    network::HostId from_host, to_host;
    double bytes;
    double latency;
    double left; ///< when its last byte leaves
    bool large;  ///< it needs a handshake
    bool posted, requested;
    bool has_arrived; ///< before its receive was posted
  };
  struct Port {
    double free, rate;
  };

  void prepare(std::span<const Rank> order, std::span<const Rank> parents);
  void measure(std::span<const Rank> order, std::span<const Rank> parents);
  void connect(Rank rank, Rank parent);
  void run();
  void handle(const Event& event);
  void arrive(Rank message);
  void handle_posts(double now);
  void post_send(Rank message, double now);
  void post_receive(Rank message, double now);
  void flow(Rank message, double now);
  /// Passes a message through the receiver's ports, which its first byte reaches at `now`.
  void pass_arrival(Rank message, double now);
  void put_in_place(Rank message, double now);
  double serve(std::size_t port, double bytes, double begin);
  double occupy_cpu(network::HostId host, double duration, double now);
  [[nodiscard]] bool is_limited(std::size_t port) const { return _ports[port].rate < unlimited; }

  static constexpr double unlimited = std::numeric_limits<double>::infinity();

  const network::Network& _network;
  network::Placement _placement;
  collective::Collective _collective;
  network::MessageCost _cost;
  int _window;
  bool _down, _blocks, _skip_empty;
  /// Each host has one rank, and receives one message before anything else passes its ports.
  bool _one_arrival;
  std::size_t _hosts;
  std::vector<Port> _ports; ///< egress, ingress and CPU of the hosts, then trunks: as Ports
  std::shared_ptr<const network::TrunkSets> _trunks;

  TreeOperations _tree;
  std::vector<Message> _messages;
  std::vector<double> _bytes; ///< by rank: of its subtree's blocks
  std::vector<double> _cpu_free;
  Queue _queue;
  execution::Executor _executor;
  double _exit = 0;
};

} // namespace thalweg::simulator
