#pragma once

#include "units/units.hpp"

#include <string>

namespace thalweg::bounds {

/// "egress of all 16 hosts: 30 x 8MB / 1.6Gbps + 100us latency".
/// @param what limits
/// @param times that the size has to pass
/// @param rate in bytes per second
/// @param time in seconds; what the rate doesn't explain of it is latency
std::string reason(const std::string& what, std::int64_t times, units::Size size, double rate,
                   double time);

} // namespace thalweg::bounds
