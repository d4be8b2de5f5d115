#include "probe/rates.hpp"

#include "probe/capacities.hpp"
#include "probe/outline.hpp"
#include "probe/trunks.hpp"

#include <algorithm>

namespace thalweg::probe {
namespace {

/// Returns the rate of a measured single flow.
Rate single(const Bandwidths& bandwidths, HostId from, HostId to) {
  return from != to && bandwidths.measured(from, to) ? bandwidths.rate(from, to) : Rate(0);
}

/// No flow gets more alone than a trunk on its path carries.
void limit_inferred(Bandwidths& bandwidths, const std::vector<network::Trunk>& trunks) {
  for (const auto& trunk : trunks)
    for (HostId from : trunk.from)
      for (HostId to : trunk.to)
        if (auto& rate = bandwidths.rate(from, to); !bandwidths.measured(from, to))
          rate = std::min(rate, trunk.capacity);
}

void set_bandwidths(network::Network& network, const Bandwidths& bandwidths, double dilation) {
  for (HostId from = 0; from < network.size(); ++from)
    for (HostId to = 0; to < network.size(); ++to) {
      if (from == to) continue;
      network.bandwidth.set(from, to, bandwidths.rate(from, to) * dilation);
      network.bandwidth_error.set(from, to, bandwidths.error(from, to));
    }
}

void set_capacities(network::Network& network, const Rates& rates, double dilation) {
  for (HostId h = 0; h < network.size(); ++h) {
    auto& host = network.hosts[static_cast<std::size_t>(h)];
    host.egress = rates.capacities.egress[static_cast<std::size_t>(h)];
    host.ingress = rates.capacities.ingress[static_cast<std::size_t>(h)];
    for (HostId other = 0; other < network.size(); ++other) {
      host.egress = std::max(host.egress, single(rates.bandwidths, h, other));
      host.ingress = std::max(host.ingress, single(rates.bandwidths, other, h));
    }
    host.egress = host.egress * dilation, host.ingress = host.ingress * dilation;
  }
}

void set_trunks(network::Network& network, const Rates& rates, double dilation) {
  network.trunks = rates.trunks;
  for (auto& trunk : network.trunks) {
    for (HostId from : trunk.from)
      for (HostId to : trunk.to)
        trunk.capacity = std::max(trunk.capacity, single(rates.bandwidths, from, to));
    trunk.capacity = trunk.capacity * dilation;
  }
}

} // namespace

Rates measure_rates(Prober& prober, const Latencies& latencies, const Sites& sites,
                    Size eager_limit) {
  BandwidthProbe probe(prober, latencies, sites, eager_limit);
  probe.sample(sample_ends);
  const auto sampled = probe.result();
  const Crowds crowds(prober, latencies, sampled, eager_limit, "looking for trunks");
  auto found = find_trunks(crowds, latencies, sites, trunks_end);
  Rates result;
  const Crowds stars(prober, latencies, sampled, eager_limit, "measuring capacities");
  result.capacities = measure_capacities(prober, stars, sites, found.widths, capacities_end);
  probe.measure_rest(found.widths, found.undisturbed, rest_ends);
  probe.repeat_alone(repeats_end);
  result.bandwidths = probe.result();
  const Crowds all_known(prober, latencies, result.bandwidths, eager_limit, "measuring trunks");
  result.trunks = measure_trunks(all_known, latencies, sites, result.capacities,
                                 std::move(found.trunks), uplinks_end);
  probe.repeat_disturbed(result.trunks, disturbed_end);
  result.bandwidths = probe.result();
  limit_inferred(result.bandwidths, result.trunks);
  return result;
}

void set_rates(network::Network& network, const Rates& rates, double dilation) {
  set_bandwidths(network, rates.bandwidths, dilation);
  set_trunks(network, rates, dilation);
  set_capacities(network, rates, dilation);
}

} // namespace thalweg::probe
