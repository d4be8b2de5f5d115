#pragma once

#include "lab/counters.hpp"
#include "lab/host.hpp"

#include <string>
#include <vector>

namespace thalweg::lab {

/// Returns the counters as a JSON object, with what each host's kernel has dropped and
/// retransmitted. Cost: two files of /proc per host; not to be called during a measurement.
std::string report(const Counters& counters, const Fabric& fabric, const Scenario& scenario,
                   const std::vector<HostProcess>& hosts, OwnCost cost);

} // namespace thalweg::lab
