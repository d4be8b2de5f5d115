#pragma once

#include "network/network.hpp"

#include <span>
#include <string>

namespace thalweg::network {

/// Returns the host of each name, found in the network with or without its domain; no_host if it
/// isn't there, or if a name without domain may be several hosts. Capitals don't count.
/// O(names + hosts).
Placement place(std::span<const std::string> names, const Network& network);

} // namespace thalweg::network
