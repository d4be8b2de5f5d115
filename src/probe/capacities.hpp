#pragma once

#include "probe/crowd.hpp"
#include "probe/rate_model.hpp"

namespace thalweg::probe {

/// Measures capacities by concurrent flows: each host to and from ever more hosts, beginning with
/// its own site, until they get clearly less together than alone. Several hosts are measured at the
/// same time as far as the widths allow. Hosts that the budget leaves out, which a note says, get
/// the median of the others, but no less than they carried.
/// @param share of the time budget by which this phase should end
Capacities measure_capacities(Prober& prober, const Crowds& crowds, const Sites& sites,
                              const Widths& widths, double share);

} // namespace thalweg::probe
