#pragma once

#include "network/network.hpp"

#include <cstddef>
#include <vector>

namespace thalweg::planner {

/// Returns rank -> index of its group, from 0. Ranks are in one group if their hosts are alike: of
/// one site, and with ports, and medians of their links' rates and latencies in each direction,
/// within 30 % of those of the group's first. The best plan with one of them as the root is then
/// likely to suit the others. O(hosts * (classes of hosts + groups)), where in a network that keeps
/// all pairs each host is a class.
std::vector<std::size_t> root_groups(const network::Network& network,
                                     const network::Placement& placement);

} // namespace thalweg::planner
