#include "bench/simulated_prober.hpp"
#include "probe/capacities.hpp"
#include "probe/outline.hpp"

#include <doctest/doctest.h>

using namespace thalweg;
using namespace thalweg::probe;
using namespace thalweg::probe::simulated;
using doctest::Approx;

namespace {

constexpr Rate rate{12.5e6};

/// The second of the flows that one host sends at the same time begins when the first has ended,
/// as after a lost message.
class LateProber : public SimulatedProber {
public:
  using SimulatedProber::SimulatedProber;
  std::vector<Flow> transfer(std::span<const Burst> bursts, const std::string& what) override {
    std::vector<Flow> flows = SimulatedProber::transfer(bursts, what);
    if (bursts.size() < 2 || bursts[0].from != late || bursts[1].from != late) return flows;
    ++crowds;
    for (Nanoseconds& arrival : flows[1].arrivals)
      arrival += 1'000'000'000'000;
    return flows;
  }
  HostId late = 0;
  int crowds = 0;
};

} // namespace

TEST_CASE("a host whose flows never ran at the same time is taken to be like the others") {
  const std::size_t hosts = 4;
  const Topology net{"even",
                     network::Matrix<Time>(hosts, Time(1e-4)),
                     network::Matrix<Rate>(hosts, rate),
                     std::vector<Rate>(hosts, rate),
                     std::vector<Rate>(hosts, rate),
                     {}};
  const auto latencies = latencies_of(net);
  const Sites sites{{0, 1, 2, 3}};
  LateProber prober(net, Time(60), 1e-3, 1);
  BandwidthProbe probe(prober, latencies, sites, 65536);
  probe.sample(sample_ends);
  const auto bandwidths = probe.result();
  const Crowds crowds(prober, latencies, bandwidths, 65536, "measuring capacities");
  const Capacities found =
      measure_capacities(prober, crowds, sites, Widths(sites.size()), capacities_end);
  CHECK(prober.crowds == 2); // once more than the first time
  for (const Rate egress : found.egress)
    CHECK(egress.value() == Approx(rate.value()).epsilon(0.1));
}
