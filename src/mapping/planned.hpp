#pragma once

#include "mapping/cost.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace thalweg::mapping {

struct PlannedCosts {
  /// By placement. None where it isn't below the least one before it by a hundred-thousandth, so
  /// that ranks don't move for nothing; that is found out with as few plans as it takes. None, too,
  /// where chains of messages (chains.hpp) and the collectives don't take a twentieth less than on
  /// the first one, which stays in doubt.
  std::vector<std::optional<Cost>> costs;
  /// How many of the program's calls are predicted: none if all have too many ranks.
  std::size_t calls = 0;
};

/// Returns each placement's cost, where collectives take what the planner predicts of its plans for
/// the placement: those calls that the estimate finds to take most on the first placement, as far
/// as they have few ranks. The others, and the cost's other parts, are as everywhere.
/// @param library if it isn't empty, the program runs without plans, and these calls take what is
/// predicted of this library's own collectives (planner::NativeModel), whose ranks exchange
/// messages by their numbers, whatever hosts they are on
PlannedCosts planned_costs(const Problem& problem, std::span<const Placement> placements,
                           const std::string& library = {});

} // namespace thalweg::mapping
