#pragma once

#include "network/network.hpp"

#include <vector>

namespace thalweg::probe {

/// How many times longer the latency between sites must be than the one inside them.
inline constexpr double clear_gap = 2.0;

/// Finds sites: hosts joined by single linkage over the latency of pairs (mean of both directions),
/// cut at the widest relative gap between two successive joins, if that is at least `gap` and every
/// host then reaches each host of its own site faster than any other host. Else all hosts are one
/// site. Sites and the hosts in them ascend. O(hosts² log hosts).
std::vector<std::vector<network::HostId>> find_sites(const network::Matrix<units::Time>& latency,
                                                     double gap = clear_gap);

} // namespace thalweg::probe
