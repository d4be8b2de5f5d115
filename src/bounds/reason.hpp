#pragma once

#include "units/units.hpp"

#include <string>

namespace thalweg::bounds {

/// Returns text such as "egress of all 16 hosts: 30 x 8MB / 1.6Gbps + 100us latency".
/// @param what the limiting resource
/// @param bytes that have to pass it
/// @param rate in bytes per second
/// @param time in seconds; the part that the rate doesn't explain is latency
/// @param unit shows `bytes` as a multiple of it; 0: plainly
std::string reason(const std::string& what, double bytes, double rate, double time,
                   units::Size unit = 0);

} // namespace thalweg::bounds
