#pragma once

#include "lab/counters.hpp"

namespace thalweg::lab {

/// Measures the switch's own cost on a TAP in a separate network namespace: what a tenth of a few
/// dozen frames don't exceed, a third of a second in all. Call it on the switch's core and at its
/// priority.
/// @param core where the frames are sent and received, as the hosts' commands would
OwnCost calibrate(int core);

} // namespace thalweg::lab
