#pragma once

#include "network/network.hpp"

#include <cstddef>
#include <vector>

namespace thalweg::planner {

/// rank -> index of its group, from 0. Ranks are in one group if their hosts are alike: of one
/// site, and with ports, and medians of their links' rates and latencies in each direction, within
/// 30 % of those of the group's first. What is best with one of them as the root is likely to be so
/// with another. O(hosts²).
std::vector<std::size_t> root_groups(const network::Network& network,
                                     const network::Placement& placement);

} // namespace thalweg::planner
