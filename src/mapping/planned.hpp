#pragma once

#include "mapping/cost.hpp"

#include <span>

namespace thalweg::mapping {

/// Returns the position of the placement of least cost, where collectives take what the planner
/// predicts of its plans for each placement: of those calls that the estimate finds to take most.
/// The others, and the cost's other parts, are as everywhere. A placement that is dearer without
/// its collectives than another one with them isn't planned for.
std::size_t best_planned(const Problem& problem, std::span<const Placement> placements);

} // namespace thalweg::mapping
