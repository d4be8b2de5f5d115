#pragma once

#include "mapping/cost.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace thalweg::mapping {

/// Whether this build has Scotch.
[[nodiscard]] bool has_scotch();

/// Returns the largest distance of two hosts that Scotch is told. It adds up products of weights
/// and distances, and distances by themselves, in 32 bits: these sums stay below 2^31, so that
/// distances are coarser where very many ranks exchange messages. 0 if they can't.
/// @param weights of all pairs of ranks, in both directions, summed up
/// @param pairs of different hosts, in both directions
[[nodiscard]] std::int64_t scotch_distance(std::int64_t weights, std::int64_t pairs);

/// Maps by Scotch, with its default strategy: symmetrically, by the mean of both directions; exact
/// for matrices that are symmetric. Its result may overfill hosts; here it is repaired. Returns
/// nothing if this build has no Scotch, or if Scotch refuses. Deterministic; one call at a time.
/// Source: Pellegrini: Static Mapping by Dual Recursive Bipartitioning of Process and Architecture
/// Graphs.
/// @param slots by host, for just all ranks
std::optional<Placement> scotch(const Problem& problem, const HostCosts& costs,
                                const std::vector<std::int32_t>& slots);

} // namespace thalweg::mapping
