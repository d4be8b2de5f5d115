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
  std::vector<FlowArrivals> transfer(std::span<const Burst> bursts,
                                     const std::string& what) override {
    std::vector<FlowArrivals> received = SimulatedProber::transfer(bursts, what);
    if (bursts.size() < 2 || bursts[0].from != late || bursts[1].from != late) return received;
    ++crowds;
    for (Nanoseconds& arrival : received[1].arrivals)
      arrival += 1'000'000'000'000;
    return received;
  }
  HostId late = 0;
  int crowds = 0;
};

/// Crowds' connections double what they carry with each round trip, but in runs that are longer
/// than `started`.
class ColdProber final : public SimulatedProber {
public:
  using SimulatedProber::SimulatedProber;
  std::vector<FlowArrivals> transfer(std::span<const Burst> bursts,
                                     const std::string& what) override {
    std::vector<FlowArrivals> received = SimulatedProber::transfer(bursts, what);
    if (bursts.size() < 2 || bursts[0].limit > started) return received;
    ++cold;
    for (FlowArrivals& flow : received) {
      flow.arrivals.clear();
      for (double sent = 1;; ++sent) {
        const auto time =
            static_cast<Nanoseconds>(std::log2(sent) * static_cast<double>(round_trip));
        if (time > bursts[0].limit) break;
        flow.arrivals.push_back(time);
      }
    }
    return received;
  }
  static constexpr Nanoseconds round_trip = 100'000'000, started = 8 * round_trip;
  int cold = 0;
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

TEST_CASE("a crowd on which TCP is still starting is run again, or isn't known") {
  const std::size_t hosts = 4;
  const Topology net{"far",
                     network::Matrix<Time>(hosts, Time(0.05)),
                     network::Matrix<Rate>(hosts, rate),
                     std::vector<Rate>(hosts, rate),
                     std::vector<Rate>(hosts, rate),
                     {}};
  const auto latencies = latencies_of(net);
  const Bandwidths bandwidths{network::Matrix<Rate>(hosts, rate), network::Matrix<float>(hosts)};
  for (const double budget : {60.0, 1e-3}) {
    CAPTURE(budget);
    ColdProber prober(net, Time(budget), 1e-3, 1);
    const Crowds crowds(prober, latencies, bandwidths, 65536, "measuring capacities");
    const Crowded found = crowds.run(std::vector<Flow>{{0, 1}, {2, 3}});
    CHECK(prober.cold == 1);
    if (budget > 1)
      CHECK(found.together.value() == Approx(2 * rate.value()).epsilon(0.05));
    else
      CHECK(found.together == Rate(0));
  }
}
