#pragma once

#include "probe/coordinator.hpp"
#include "probe/identity.hpp"

namespace thalweg::probe {

/// Measures everything: latency, sites, bandwidth, capacities, message costs, native times. Runs on
/// rank 0.
Network measure(Coordinator& coordinator, bool shared_clock);

/// Measures only what depends on the MPI library, and replaces that part of `base`.
/// @throws OtherHosts if `base` is not of these hosts in this order
Network add_library(Coordinator& coordinator, bool shared_clock, Network base);

/// Measures only latency and bandwidth of `options.pairs`, and replaces them in `base`: in both
/// directions of a pair its latency, in its direction its bandwidth. What the budget leaves no time
/// for has an infinite error.
/// @throws OtherHosts if `base` is not of these hosts in this order, and Failure if a pair is not
/// among them
Network measure_pairs(Coordinator& coordinator, bool shared_clock, Network base);

} // namespace thalweg::probe
