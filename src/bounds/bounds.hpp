#pragma once

#include "algorithms/algorithm.hpp"

#include <string>

/// Proven lower limits of the time of a collective on a network. Formulas that only look like
/// bounds are not here.
namespace thalweg::bounds {

using algorithms::Problem;
using units::Time;

/// A proven lower limit of last exit − last entry (minus the root's entry where the root alone
/// sends).
struct Bound {
  Time time{};
  std::string reason; ///< the cut or path that sets it, for people: "trunk east->west: 8MB / 1Gbps"
};

/// Of the hosts that ranks run on, counts what limits any schedule: latencies at their lower
/// confidence, and the capacities of ports and trunks, each for the part of the time in which data
/// that counts can pass it. A single flow's bandwidth doesn't limit a pair, except where neither a
/// port at its ends nor a trunk is known. The CPU time of messages, bytes and combining is
/// Problem::cost's. Entry times don't count: who enters later is never earlier done.
/// Cost: a few maximum flows per host, O(hosts^2) each in practice, and O(hosts^3); beyond 128
/// hosts cuts through several ports, pairs and trunks are left out but for those that sites and
/// trunks suggest, and the cost is O(hosts^2).
Bound bound(const Problem& problem);

} // namespace thalweg::bounds
