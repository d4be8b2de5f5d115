#pragma once

#include "units/units.hpp"

#include <string>

namespace thalweg::bounds {

/// "egress of all 16 hosts: 30 x 8MB / 1.6Gbps + 100us latency".
/// @param what limits
/// @param bytes that have to pass
/// @param rate in bytes per second
/// @param time in seconds; what the rate doesn't explain of it is latency
/// @param unit of which `bytes` are a multiple, for people: 0: none
std::string reason(const std::string& what, double bytes, double rate, double time,
                   units::Size unit = 0);

} // namespace thalweg::bounds
