#pragma once

#include "probe/bandwidth.hpp"

namespace thalweg::probe {

/// What flows share; rates on the wall clock.
struct Capacities {
  std::vector<Rate> egress, ingress; ///< infinite where more flows always got more
  std::vector<network::Trunk> trunks;
};

/// Capacities from concurrent flows: each host to and from ever more hosts of its own site (of any,
/// if it is alone), and all hosts of one site to those of another. Flows that together get clearly
/// less than the sum of what each gets alone (as measured) have filled something they share. Hosts
/// that the budget leaves out get the median of the others. What was not filled isn't known, and
/// isn't recorded.
Capacities measure_capacities(Coordinator& coordinator, const Latencies& latencies,
                              const Sites& sites, const Bandwidths& bandwidths, Size eager_limit,
                              double share);

} // namespace thalweg::probe
