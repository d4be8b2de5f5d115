#pragma once

#include "mapping/state.hpp"

#include <span>
#include <vector>

namespace thalweg::mapping {

/// What each rank's messages would cost on each host, if all other ranks stayed: a table by which a
/// search finds changes that may pay, without evaluating each. It holds what ranks would wait for,
/// at the ranks' present weights, the loads at their present prices, and migration. Collectives
/// stand in it as messages between members that are close in their order. O(ranks × hosts) memory.
class Guide {
public:
  Guide(const Problem& problem, const HostCosts& costs, const State& state);

  /// Computes all anew, at present weights and prices. O(pairs × hosts).
  void rebuild(const State& state);
  /// Follows a rank from a host to another one. O(peers × hosts).
  void follow(Rank rank, HostId from, HostId to);
  /// Returns what the rank would cost, by host.
  [[nodiscard]] const float* of(Rank rank) const { return &_table[at(rank)]; }
  /// Returns what the messages between a rank on one host and a peer on another cost.
  [[nodiscard]] float between(Rank rank, const Communication::Peer& peer, HostId here,
                              HostId there) const;
  /// Returns the ranks whose rows change when a rank moves, and their weights.
  [[nodiscard]] std::span<const Communication::Peer> peers(Rank rank) const {
    return _communication.peers(rank);
  }
  /// Returns Communication::exchanges of the matrix of these peers.
  [[nodiscard]] std::size_t exchanges(Rank rank) const { return _communication.exchanges(rank); }

private:
  [[nodiscard]] std::size_t at(Rank rank) const { return static_cast<std::size_t>(rank) * _width; }
  /// What the messages between a rank and a peer count, in seconds of the receiver each, and what
  /// their bytes add to loads.
  struct Weights {
    float message_to = 0, byte_to = 0, message_from = 0, byte_from = 0, load_to = 0, load_from = 0;
  };
  [[nodiscard]] Weights weights(Rank rank, const Communication::Peer& peer) const;
  void rebuild_prices(const State& state);
  /// Adds to a rank's row a multiple of what it and a peer on a host cost.
  void add(float* row, const Weights& weights, HostId there, float factor) const;

  const Problem* _problem;
  const HostCosts* _costs;
  Communication _communication;
  std::size_t _hosts;
  std::size_t _width;         ///< of a row: hosts, rounded up
  std::vector<float> _table;  ///< by rank and host
  std::vector<float> _weight; ///< by phase and rank: State::weight
  // By two hosts: what a message or byte costs from the second to the first, and back; and what a
  // byte adds to the loads, at their prices.
  std::vector<float> _message_to, _message_from, _byte_to, _byte_from, _load_to, _load_from;
};

} // namespace thalweg::mapping
