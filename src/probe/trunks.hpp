#pragma once

#include "probe/crowd.hpp"

namespace thalweg::probe {

/// What flows of several hosts share; rates on the wall clock.
struct Trunks {
  std::vector<network::Trunk> found;
  Widths widths; ///< how many flows at once have been seen not to disturb each other
};

/// Finds trunks from flows of all hosts of a site at once: to hosts of all other sites, from them,
/// and to the hosts of one other site. Flows that together get clearly less than each alone, and
/// less than the known trunks on their path allow, have filled a capacity; they run again to make
/// sure. A trunk that follows from others isn't recorded. For each trunk, the number of senders
/// that fill it is measured. A capacity that was not filled isn't known, and isn't recorded.
/// @param share of the time budget by which this phase should end
Trunks measure_trunks(Coordinator& coordinator, const Crowds& crowds, const Sites& sites,
                      double share);

} // namespace thalweg::probe
