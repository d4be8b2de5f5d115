#pragma once

#include "probe/capacities.hpp"

namespace thalweg::probe {

/// Finds trunks out of sites and into them that one flow per host doesn't fill, from several flows
/// per host, each to another host of the other sites. What each host can send and take, and the
/// trunks found so far, limit what flows may be expected to get; those that thrice get clearly less
/// have filled something. Its senders follow from what one flow of each host gets.
/// @param found trunks found so far; rates on the wall clock
/// @return those and the new ones, without the ones that follow from others
/// @param share of the time budget when this phase should have ended
std::vector<network::Trunk> measure_uplinks(Coordinator& coordinator, const Crowds& crowds,
                                            const Sites& sites, const Capacities& capacities,
                                            std::vector<network::Trunk> found, double share);

} // namespace thalweg::probe
