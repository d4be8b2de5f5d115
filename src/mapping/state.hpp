#pragma once

#include "mapping/collectives.hpp"
#include "mapping/cost.hpp"
#include "mapping/norm.hpp"

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
  /// Returns how many hosts and roots of collectives change() looks at.
  [[nodiscard]] std::size_t effort(std::span<const Move> moves) const {
    return _collectives.effort(moves);
  }
  /// Moves the ranks.
  void apply(std::span<const Move> moves);
  /// Computes the cost anew, which removes what rounding has added up.
  void recompute();
  /// Returns the derivative of the total cost with respect to what a rank waits for in a phase; at
  /// least what it were if all ranks waited alike, since a rank that waits for little soon may not.
  [[nodiscard]] double weight(Rank rank, std::size_t phase) const;
  /// Returns, by port and trunk, the derivative of the total cost with respect to a byte through
  /// it, beyond what ranks wait for.
  [[nodiscard]] std::vector<double> prices() const;

private:
  /// Returns the cost after the moves, which are left as changes of waits and loads.
  Cost evaluate(std::span<const Move> moves);
  /// Adds what a rank sends to a peer and gets from it.
  void count(Rank rank, const Communication::Peer& peer, HostId here, HostId there, double sign);
  void count_load(HostId from, HostId to, double bytes);

  const Problem* _problem;
  const HostCosts* _costs;
  Placement _placement;
  Collectives _collectives;
  Cost _cost;
  double _mean;                ///< by which the norm of the waits becomes their power mean
  std::vector<Norm> _waits;    ///< by phase, over the ranks: seconds
  Norm _loads;                 ///< by resource: seconds
  std::vector<HostId> _target; ///< by rank, of one evaluation; else no_host
};

} // namespace thalweg::mapping
