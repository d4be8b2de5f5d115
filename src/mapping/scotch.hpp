#pragma once

#include "mapping/cost.hpp"

#include <optional>
#include <vector>

namespace thalweg::mapping {

/// Whether this build has Scotch.
[[nodiscard]] bool has_scotch();

/// Maps by Scotch, with its default strategy: symmetrically, by the mean of both directions; exact
/// for matrices that are symmetric. Its result may overfill hosts; here it is repaired. Returns
/// nothing if this build has no Scotch, or if Scotch refuses. Deterministic; one call at a time.
/// Source: Pellegrini: Static Mapping by Dual Recursive Bipartitioning of Process and Architecture
/// Graphs.
/// @param slots by host, for just all ranks
std::optional<Placement> scotch(const Problem& problem, const HostCosts& costs,
                                const std::vector<std::int32_t>& slots);

} // namespace thalweg::mapping
