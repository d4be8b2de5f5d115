#pragma once

#include "mapping/mapping.hpp"

#include <functional>

namespace thalweg::mapping {

/// Places ranks on sites as if these were hosts, and then those of each site on its hosts: for
/// networks whose pairs of hosts would take too much memory and time all at once. What sites have
/// between them counts in the first step, what is inside a site in the second.
/// @param most_hosts a site with more hosts, or a network without sites, is divided into parts,
/// each of which counts as a site; hosts behind the same trunks stay together as far as that goes
/// @param search places the ranks of a smaller problem
Placement by_sites(const Problem& problem, std::size_t most_hosts,
                   const std::function<Placement(const Problem&)>& search);

} // namespace thalweg::mapping
