#pragma once

#include "mapping/mapping.hpp"

#include <functional>

namespace thalweg::mapping {

/// Places ranks on sites as if these were hosts, and then those of each site on its hosts: for
/// networks whose pairs of hosts would take too much memory and time all at once. What sites have
/// between them counts in the first step, what is inside a site in the second.
/// @param search places the ranks of a smaller problem
/// @returns nothing if the hosts have no sites, or a single one
std::optional<Placement> by_sites(const Problem& problem,
                                  const std::function<Placement(const Problem&)>& search);

} // namespace thalweg::mapping
