#pragma once

#include "mapping/collectives.hpp"
#include "mapping/cost.hpp"

#include <span>
#include <vector>

namespace thalweg::mapping {

/// A rank and the host that it goes to.
struct Move {
  Rank rank = 0;
  HostId to = 0;
};

/// A placement with its cost, which follows changes without being computed anew.
class State {
public:
  /// @param placement within the network; slots don't matter here
  State(const Problem& problem, const HostCosts& costs, Placement placement);

  [[nodiscard]] const Placement& placement() const { return _placement; }
  [[nodiscard]] HostId host(Rank rank) const { return _placement[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] double total() const { return _cost.total().value(); }
  [[nodiscard]] Cost cost() const { return _cost; }
  /// Returns by how many seconds the total cost would change. O(peers of the moved ranks × trunks,
  /// hosts of their communicators).
  /// @param moves of different ranks
  [[nodiscard]] double change(std::span<const Move> moves);
  /// Moves the ranks.
  void apply(std::span<const Move> moves);
  /// Computes the cost anew, which removes what rounding has added up.
  void recompute();
  /// Returns the derivative of the total cost with respect to a byte from one host to another,
  /// beyond what HostCosts has.
  [[nodiscard]] double price(HostId from, HostId to) const;

private:
  /// Returns the cost after the moves; leaves the changes of loads in _changed.
  Cost evaluate(std::span<const Move> moves);
  void count(const Communication::Peer& peer, HostId here, HostId there, double sign);
  void count_load(HostId from, HostId to, double bytes);
  void forget_changes();
  [[nodiscard]] double moved_load() const;

  const Problem* _problem;
  const HostCosts* _costs;
  Placement _placement;
  Collectives _collectives;
  Cost _cost;
  double _terms = 0;              ///< Σ load_term
  std::vector<double> _loads;     ///< by resource: seconds
  std::vector<double> _change_of; ///< by resource, of one evaluation
  std::vector<std::size_t> _changed;
  std::vector<char> _is_changed; ///< by resource: whether it is in _changed
  std::vector<HostId> _target;   ///< by rank, of one evaluation; else no_host
  double _pairs = 0;             ///< of one evaluation
};

} // namespace thalweg::mapping
