#pragma once

#include "network/network.hpp"

#include <cstdint>
#include <vector>

namespace thalweg::optimization {

/// Returns the tree of least total cost from the root to all nodes: node -> parent, -1 at the root.
/// Costs are by (from, to). O(nodes³) steps, O(nodes²) memory. Source: Chu, Liu: On the Shortest
/// Arborescence of a Directed Graph; Edmonds: Optimum Branchings.
std::vector<std::int32_t> minimum_arborescence(const network::Matrix<double>& costs,
                                               std::int32_t root);

/// Returns the same tree for costs that are equal in both directions, by spanning_tree().
/// O(nodes²).
std::vector<std::int32_t> minimum_spanning_tree(const network::Matrix<double>& costs,
                                                std::int32_t root);

} // namespace thalweg::optimization
