#pragma once

#include "probe/bandwidth.hpp"
#include "probe/rate_model.hpp"

namespace thalweg::probe {

/// What is known about rates, on the wall clock.
struct Rates {
  Bandwidths bandwidths;
  Capacities capacities;
  std::vector<network::Trunk> trunks;
};

/// Measures bandwidth, trunks and capacities: each needs the results of the ones before. Each phase
/// ends at its share of the time budget (outline.hpp).
Rates measure_rates(Prober& prober, const Latencies& latencies, const Sites& sites,
                    Size eager_limit);

/// Sets the network's bandwidths, capacities and trunks. A capacity is at least as large as any
/// single flow's rate.
/// @param dilation the network is faster than the rates on the wall clock by this factor
void set_rates(network::Network& network, const Rates& rates, double dilation);

} // namespace thalweg::probe
