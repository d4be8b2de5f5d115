#pragma once

#include "mapping/state.hpp"

#include <cstddef>
#include <cstdint>

namespace thalweg::mapping {

/// Cells of the guide's tables that change in the time of looking at a rank.
constexpr std::size_t cells_of_a_move = 512;
/// The same for a peer in an exact evaluation, with the ports and trunks between.
constexpr std::size_t cells_of_a_peer = 64;

/// How a placement is refined.
struct RefineOptions {
  std::uint64_t seed = 0;
  /// Ranks looked at and changes evaluated, at most; a change of ranks with many peers counts as
  /// several, by its work.
  std::int64_t moves = 0;
};

/// Changes a placement while that lowers its cost: swaps of two ranks, moves to free slots, and
/// cycles of two or three ranks that are followed by swaps and moves around them. Capacities and
/// pinned ranks are kept. The result never costs more than the start; more moves never make it
/// worse; the same input gives the same output.
/// @param start within capacities
Placement refine(const Problem& problem, const HostCosts& costs, const Placement& start,
                 const RefineOptions& options);

} // namespace thalweg::mapping
