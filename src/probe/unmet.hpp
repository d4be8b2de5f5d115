#pragma once

#include "probe/flows.hpp"
#include "probe/rounds.hpp"

namespace thalweg::probe {

/// Returns disjoint pairs of hosts, one pair for each two sites of which no pair of hosts was
/// measured, as far as each site can take part in one: first those that are about as far from the
/// sites that both have met, since these may be parts of one site. None: all sites have met.
/// O(sites² · met sites + hosts²).
/// @param latency half of the round trips; zero: not measured
Round unmet(const Matrix<units::Time>& latency, const Sites& sites);

} // namespace thalweg::probe
