#pragma once

#include "probe/capacities.hpp"

namespace thalweg::probe {

/// Finds trunks out of sites and into them that one flow per host doesn't fill, using several flows
/// per host, each to another host of the other sites. The capacities of the hosts and the trunks
/// found so far limit what flows may be expected to get; flows that get clearly less three times
/// have filled a trunk. Its senders follow from the rates of one flow of each host.
/// @param found trunks found so far; rates on the wall clock
/// @param share of the time budget by which this phase should end
/// @return those and the new ones, without trunks that follow from others
std::vector<network::Trunk> measure_uplinks(Coordinator& coordinator, const Crowds& crowds,
                                            const Sites& sites, const Capacities& capacities,
                                            std::vector<network::Trunk> found, double share);

} // namespace thalweg::probe
