#pragma once

#include "probe/coordinator.hpp"
#include "probe/flows.hpp"

namespace thalweg::probe {

/// A stream of `count` messages of `size` bytes from one host to another.
struct Burst {
  std::int64_t from = 0, to = 0, count = 0;
  Size size = 0;
};

/// Runs all bursts at the same time. Any host may take part in several.
/// @return the arrivals by burst, on rank 0's clock
std::vector<Flow> transfer_all(Coordinator& coordinator, std::span<const Burst> bursts,
                               Nanoseconds expected, const std::string& what);

/// Carries out one rank's part.
Words transfer(const Channel& channel, const Words& order);

} // namespace thalweg::probe
