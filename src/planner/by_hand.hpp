#pragma once

#include "planner/table.hpp"

#include <optional>

namespace thalweg::planner {

/// Puts a declared tree into a table for messages of `low` bytes up to below `high`. Rows of other
/// sizes stay unchanged; missing ones are native. Verifies each root's schedule.
/// @param tree parameters of the algorithm `tree`
/// @param root the root that the tree is for, which no other's rows follow; every one if none: with
/// more than 256 ranks each that has rows of its own, which its host's others share
/// @throws std::invalid_argument if the tree doesn't fit the table's placement, the algorithm can't
/// do the collective, or the sizes aren't a range
void put_tree(Table& table, const network::Network& network, collective::Kind kind,
              const Parameters& tree, Size low, Size high, const PlanOptions& options = {},
              std::optional<collective::Rank> root = {});

} // namespace thalweg::planner
