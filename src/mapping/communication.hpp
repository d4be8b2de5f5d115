#pragma once

#include "collective/collective.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Which rank runs on which host: the cost of a placement, and placements of low cost.
namespace thalweg::mapping {

using collective::Rank;

/// Phases that are told apart; later ones count as the last of these.
constexpr std::int32_t most_phases = 16;

/// What one rank sends to another in the whole program. Numbers may be means over several runs.
struct Traffic {
  Rank from = 0, to = 0;
  double messages = 0, bytes = 0;
  /// Messages of a phase are in transit at about the same time; no phase begins before those
  /// before it. From 0; all 0 if nothing is known.
  std::int32_t phase = 0;
};

/// The communication matrix of a program: directed and sparse.
class Communication {
public:
  /// What a rank exchanges with another one, in both directions.
  struct Exchange {
    double sent_messages = 0, sent_bytes = 0, received_messages = 0, received_bytes = 0;
    Exchange& operator+=(const Exchange& other);
  };
  /// What it exchanges with it in a phase.
  struct PhaseExchange : Exchange {
    std::int32_t phase = 0;
  };
  /// A rank that another one exchanges messages with, and what in all phases together.
  struct Peer : Exchange {
    Rank rank = 0;
    std::size_t first = 0, last = 0; ///< see by_phase()
  };

  /// Adds up entries of the same pair and phase. What a rank sends to itself doesn't count.
  /// O(entries + ranks).
  /// @throws std::invalid_argument for a number of ranks below 1 or above algorithms::most_ranks,
  /// a rank that doesn't exist, and messages, bytes or phases that are negative or not finite
  Communication(Rank ranks, std::vector<Traffic> entries);

  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(_first.size()) - 1; }
  /// Returns a rank's peers, ascending.
  [[nodiscard]] std::span<const Peer> peers(Rank rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return std::span(_peers).subspan(_first[at], _first[at + 1] - _first[at]);
  }
  /// Returns what is exchanged with a peer phase by phase, ascending: at least one.
  [[nodiscard]] std::span<const PhaseExchange> by_phase(const Peer& peer) const {
    return std::span(_by_phase).subspan(peer.first, peer.last - peer.first);
  }
  /// Returns how often a rank exchanges something with a peer in a phase: the sum of by_phase()
  /// over its peers.
  [[nodiscard]] std::size_t exchanges(Rank rank) const {
    const std::span<const Peer> all = peers(rank);
    return all.empty() ? 0 : all.back().last - all.front().first;
  }
  /// Returns the number of phases, from 1 to most_phases.
  [[nodiscard]] std::size_t phases() const { return _phases; }
  /// Returns what all ranks send together.
  [[nodiscard]] double messages() const { return _messages; }
  [[nodiscard]] double bytes() const { return _bytes; }
  /// Returns the matrix of groups of ranks: what the ranks of each group send to those of each
  /// other.
  /// @param group_of by rank, from 0 to groups - 1
  [[nodiscard]] Communication between(std::span<const Rank> group_of, Rank groups) const;
  /// Returns all pairs, ascending by (from, to, phase).
  [[nodiscard]] std::vector<Traffic> entries() const;

private:
  std::vector<std::size_t> _first; ///< of each rank's peers; one more at the end
  std::vector<Peer> _peers;
  std::vector<PhaseExchange> _by_phase; ///< in the order of the peers
  std::size_t _phases = 1;
  double _messages = 0, _bytes = 0;
};

} // namespace thalweg::mapping
