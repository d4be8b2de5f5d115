#pragma once

#include "mapping/cost.hpp"

#include <cstdint>
#include <vector>

/// Placements that a search begins with, or that are compared with. Each keeps capacities and
/// pinned ranks.
namespace thalweg::mapping {

/// Fills the slots of one host after the other, as most launchers do: CloudMap's RoundRobin.
Placement block(const Problem& problem);
/// Does the same in another order of the hosts.
/// @param order all hosts that have slots
Placement block(const Problem& problem, const std::vector<HostId>& order);
/// Deals the ranks out, one to each host in turn: CloudMap's baseline.
Placement interleave(const Problem& problem);
/// Draws a slot for each rank.
Placement random(const Problem& problem, std::uint64_t seed);

/// Makes a placement that keeps capacities and pins from one that may not: of hosts with too many
/// ranks those leave that lose least. O(peers × hosts) for each rank of such a host, again for
/// peers on it of each that leaves, and where the host that a rank would go to has filled up.
/// @param slots by host
Placement repair(const Problem& problem, const HostCosts& costs,
                 const std::vector<std::int32_t>& slots, Placement placement);

/// Chooses hosts that are near each other, with slots for just all ranks, pinned ones on their own
/// hosts: returns the slots to use by host. One choice grown from each of some hosts, the best
/// first; just one, all slots, where all are needed. O(hosts²) for each.
std::vector<std::vector<std::int32_t>> choices_of_hosts(const Problem& problem,
                                                        const HostCosts& costs, std::size_t most);

/// Divides hosts and ranks in two, again and again: the hosts by distance, the ranks so that little
/// crosses. After Pellegrini: Static Mapping by Dual Recursive Bipartitioning. O(pairs log hosts).
/// @param slots by host, for just all ranks
Placement bisect(const Problem& problem, const HostCosts& costs,
                 const std::vector<std::int32_t>& slots);

/// Joins ranks in pairs, pairs in fours and so on, those that send each other most first, as long
/// as they fit on a host together. After Karypis, Kumar: A Fast and High Quality Multilevel Scheme
/// for Partitioning Irregular Graphs (heavy-edge matching). O(pairs log² ranks).
/// @param slots by host, for just all ranks
Placement join(const Problem& problem, const HostCosts& costs,
               const std::vector<std::int32_t>& slots);

/// Returns what two ranks send each other, weighted by what a message and a byte cost.
inline double weight(const Communication::Peer& peer, const HostCosts::Pair& each) {
  return (peer.sent_messages + peer.received_messages) * each.message +
         (peer.sent_bytes + peer.received_bytes) * each.byte;
}

/// Returns what a message and a byte cost on the mean over all pairs of hosts; if neither costs
/// anything, what weighs all messages together like all bytes.
HostCosts::Pair middling(const Problem& problem, const HostCosts& costs);

/// Returns the mean of what an average message of the program costs between two hosts, over both
/// directions: a distance, in seconds.
double distance(const Problem& problem, const HostCosts& costs, HostId a, HostId b);

} // namespace thalweg::mapping
