#pragma once

#include "probe/crowd.hpp"

namespace thalweg::probe {

/// Of each host, on the wall clock; infinite where more flows always got more.
struct Capacities {
  std::vector<Rate> egress, ingress;
};

/// Capacities from concurrent flows: each host to and from ever more hosts, those of its own site
/// first, until they get clearly less together than alone. Hosts are measured at the same time as
/// far as the widths allow. Those that the budget leaves out get the median of the others.
/// @param share of the time budget when this phase should have ended
Capacities measure_capacities(Coordinator& coordinator, const Crowds& crowds, const Sites& sites,
                              const Widths& widths, double share);

} // namespace thalweg::probe
