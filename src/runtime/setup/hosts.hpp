#pragma once

#include "network/network.hpp"
#include "planner/table.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace thalweg::runtime {

/// Says which rank isn't where the plan expects it; empty if a table is for this placement, or if
/// none is for so many ranks. O(tables * ranks).
std::string misplacement(const planner::PlanFile& plan, const network::Placement& placement);

/// Numbers names in the order of their first appearance, from 0.
std::vector<std::int32_t> numbers_of(const std::vector<std::string>& names);

/// Returns a network of the distinct names in the order of their first appearance, all alike, for
/// forced algorithms without a plan.
network::Network assumed_network(const std::vector<std::string>& names);

/// Returns the names in `list` ("a,b,c") in turn for `ranks` ranks.
std::vector<std::string> assumed_names(const std::string& list, int ranks);

} // namespace thalweg::runtime
