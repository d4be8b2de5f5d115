#pragma once

#include "lab/counters.hpp"
#include "lab/host.hpp"

#include <string>
#include <vector>

namespace thalweg::lab {

/// The counters as a JSON object, with what each host's kernel has dropped and sent again.
/// Cost: two files of /proc per host; not for the time of a measurement.
std::string report(const Counters& counters, const Fabric& fabric, const Scenario& scenario,
                   const std::vector<HostProcess>& hosts, OwnCost cost);

} // namespace thalweg::lab
