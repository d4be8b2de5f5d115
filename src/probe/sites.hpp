#pragma once

#include "network/network.hpp"

#include <vector>

namespace thalweg::probe {

/// The least ratio of the latency between sites to the one inside them.
inline constexpr double clear_gap = 2.0;
/// The least ratio if all sites have at least three hosts and all but a few links agree.
inline constexpr double faint_gap = 1.2;

/// Finds sites: hosts joined by single linkage over the latency of pairs (mean of both directions),
/// cut at the widest relative gap between two successive joins, if that is at least clear_gap and
/// every host then reaches each host of its own site faster than any other host; or if it is at
/// least faint_gap, and so is the one between nearly all links inside sites and nearly all between
/// them. Else all hosts are one site. Pairs whose latency is zero were not measured. Sites and the
/// hosts in them ascend. O(hosts² log hosts).
std::vector<std::vector<network::HostId>> find_sites(const network::Matrix<units::Time>& latency);

} // namespace thalweg::probe
