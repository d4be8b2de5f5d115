#include "bench/simulated_prober.hpp"
#include "probe/bandwidth.hpp"
#include "probe/outline.hpp"

#include <doctest/doctest.h>
#include <numeric>

using namespace thalweg;
using namespace thalweg::probe;
using namespace thalweg::probe::simulated;
using doctest::Approx;

namespace {

constexpr Rate near_rate{12.5e6}, far_rate{1.25e6};
constexpr double noise = 1e-3;

/// Sites of as many hosts each. The flows between two sites are slower than those inside one.
Topology far_sites(std::size_t sites, HostId each, Time far) {
  const std::size_t hosts = sites * static_cast<std::size_t>(each);
  Topology net{"far",
               network::Matrix<Time>(hosts, far),
               network::Matrix<Rate>(hosts, far_rate),
               std::vector<Rate>(hosts, near_rate),
               std::vector<Rate>(hosts, near_rate),
               {}};
  for (HostId a = 0; a < net.hosts(); ++a)
    for (HostId b = 0; b < net.hosts(); ++b)
      if (a / each == b / each) net.latency(a, b) = Time(1e-4), net.rate(a, b) = near_rate;
  return net;
}

Sites sites_of(const Topology& net, HostId each) {
  Sites sites;
  for (HostId host = 0; host < net.hosts(); host += each) {
    auto& site = sites.emplace_back(static_cast<std::size_t>(each));
    std::iota(site.begin(), site.end(), host);
  }
  return sites;
}

/// Two sites whose near flows are measured in a short budget, and whose far ones aren't.
struct Sampled {
  Topology net = far_sites(2, 3, Time(50e-3));
  decltype(latencies_of(net)) latencies = latencies_of(net);
  Sites sites = sites_of(net, 3);
  SimulatedProber prober{net, Time(0.5), noise, 1};
  BandwidthProbe probe{prober, latencies, sites, 65536};
  Sampled() { probe.sample(sample_ends); }
};

} // namespace

TEST_CASE_FIXTURE(
    Sampled, "two sites whose flow had no time to get steady have its rate, not that of others") {
  const auto found = probe.result();
  CHECK(found.measured(0, 1));
  CHECK(found.rate(0, 1).value() == Approx(near_rate.value()).epsilon(0.1));
  for (const HostId from : sites[0])
    for (const HostId to : sites[1]) {
      CHECK(!found.measured(from, to));
      CHECK(found.rate(from, to).value() == Approx(far_rate.value()).epsilon(0.1));
    }
}

TEST_CASE_FIXTURE(Sampled,
                  "no step is begun after the deadline where something is known of all sites") {
  probe.measure_rest(Widths(sites.size()), {}, rest_ends); // has a step for sites without a flow
  const auto end = prober.clock();
  REQUIRE(end > prober.deadline(rest_ends));
  const auto found = probe.result();
  probe.measure_rest(Widths(sites.size()), {}, rest_ends);
  CHECK(prober.clock() == end);
  CHECK(probe.result().rate == found.rate);
}
