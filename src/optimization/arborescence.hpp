#pragma once

#include "network/network.hpp"

#include <cstdint>
#include <vector>

namespace thalweg::optimization {

/// The tree of least total cost that leads from the root to all nodes: node -> parent, -1 at the
/// root. Costs are by (from, to). O(nodes³). Source: Chu, Liu: On the Shortest Arborescence of a
/// Directed Graph; Edmonds: Optimum Branchings.
std::vector<std::int32_t> minimum_arborescence(const network::Matrix<double>& costs,
                                               std::int32_t root);

/// The same where costs are equal both ways. Source: Prim: Shortest Connection Networks and Some
/// Generalizations.
std::vector<std::int32_t> minimum_spanning_tree(const network::Matrix<double>& costs,
                                                std::int32_t root);

} // namespace thalweg::optimization
