#pragma once

#include "probe/flows.hpp"

#include <span>

/// Crowds in which every host sends one flow and receives one, so that what slows them down is
/// shared by several hosts.
namespace thalweg::probe {

/// Returns crowds inside the sites, all sites at once: from each host to the one half a site
/// further, a quarter of a site, and so on. Sites of fewer than three hosts have none. O(hosts log
/// hosts).
std::vector<std::vector<Flow>> shifts_inside(const Sites& sites);

/// Returns crowds between the sites, in each of which every site sends to one other, as many flows
/// as the smaller one has hosts, and the hosts left over to any other site: one crowd less than
/// sites, in which every ordered pair of sites occurs. Of three sites and more there is one more,
/// in which the hosts of each send to all other sites in turn: it tells a link that a site's flows
/// to all others share from links to each. O(hosts × sites).
/// @param several flows of each host of the larger site, with different hosts of the other one as
/// far as it has as many
std::vector<std::vector<Flow>> shifts_between(const Sites& sites, std::size_t several = 1);

/// Returns two flows of each host at one end to, or from, hosts of all other sites in turn: out of
/// the hosts or into them. O(hosts).
std::vector<Flow> scattered(const Sites& sites, const std::vector<HostId>& hosts, bool out);

/// Returns the flows in an order in which any first ones are spread evenly over all.
std::vector<Flow> spread(std::span<const Flow> flows);

} // namespace thalweg::probe
