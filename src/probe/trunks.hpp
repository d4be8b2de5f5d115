#pragma once

#include "probe/evidence.hpp"

namespace thalweg::probe {

/// What flows of several hosts share; rates on the wall clock.
struct FoundTrunks {
  std::vector<FilledTrunk> trunks;
  Widths widths;                 ///< how many flows at once don't disturb each other
  std::vector<Flow> undisturbed; ///< got in crowds what they should get alone, not more
};

/// Finds the capacities that flows of several hosts share. Crowds in which every host sends one
/// flow and receives one run inside the sites and between them (shifts.hpp). Flows that get clearly
/// less than known capacities allow are divided by what holds them back (isolation.hpp); then all
/// hosts behind that are found (membership.hpp), and what it explains elsewhere needs no more
/// crowds. A capacity that was not filled isn't known, and isn't recorded.
/// @param share of the time budget by which this phase should end
FoundTrunks find_trunks(const Crowds& crowds, const Latencies& latencies, const Sites& sites,
                        double share);

/// Measures the trunks that were found and those that only several flows of each host fill, where
/// one doesn't fill the host's own capacity. For each trunk, the number of senders that fill it is
/// measured. A trunk that follows from the others isn't recorded.
/// @param crowds with better known rates than those by which the trunks were found
std::vector<network::Trunk> measure_trunks(const Crowds& crowds, const Latencies& latencies,
                                           const Sites& sites, const Capacities& capacities,
                                           std::vector<FilledTrunk> found, double share);

} // namespace thalweg::probe
