#include "probe/outline.hpp"
#include "probe/rates.hpp"
#include "probe/sites.hpp"
#include "topologies.hpp"

#include <doctest/doctest.h>
#include <iostream>

using namespace thalweg;
using namespace thalweg::probe;
using namespace thalweg::probe::test;

namespace {

/// Returns the truth of what was measured, to compare.
Topology measured(const Rates& rates, const Topology& truth) {
  Topology result{truth.name,
                  truth.latency,
                  rates.bandwidths.rate,
                  rates.capacities.egress,
                  rates.capacities.ingress,
                  {}};
  for (const auto& trunk : rates.trunks) {
    Link link{trunk.name, network::Matrix<char>(truth.egress.size(), 0), trunk.capacity};
    for (HostId from : trunk.from)
      for (HostId to : trunk.to)
        link.carries(from, to) = 1;
    result.links.push_back(std::move(link));
  }
  return result;
}

/// Returns what flows from all hosts of one side to all of the other get together.
Rate cut(const Topology& net, const std::vector<bool>& inside) {
  std::vector<Arrow> flows;
  std::vector<Rate> limits;
  for (HostId a = 0; a < net.hosts(); ++a)
    for (HostId b = 0; b < net.hosts(); ++b)
      if (inside[static_cast<std::size_t>(a)] && !inside[static_cast<std::size_t>(b)])
        flows.push_back({a, b}), limits.push_back(net.rate(a, b));
  const auto rates = shares(net, flows, limits);
  return std::accumulate(rates.begin(), rates.end(), Rate(0));
}

struct Verdict {
  std::size_t cuts = 0, right = 0, halved = 0;
  double seconds = 0;
};

Verdict probe_and_compare(const Topology& truth, unsigned seed, bool tell) {
  SimulatedProber prober(truth, Time(600), 0.02, seed);
  const auto latencies = latencies_of(truth);
  network::Matrix<Time> latency = truth.latency;
  const auto sites = find_sites(latency);
  // Within the budget, only the search for rates counts here.
  const auto rates = measure_rates(prober, latencies, sites, 65536);
  const auto found = measured(rates, truth);
  Verdict result;
  result.seconds = 1e-9 * static_cast<double>(prober.clock());
  std::mt19937 random(seed);
  for (int k = 0; k < 60; ++k) {
    std::vector<bool> inside(truth.egress.size());
    // Cuts along sites, and a few at random.
    std::vector<bool> chosen;
    for (std::size_t s = 0; s < sites.size(); ++s)
      chosen.push_back(random() % 2 == 0);
    for (std::size_t s = 0; s < sites.size(); ++s)
      for (auto host : sites[s])
        inside[static_cast<std::size_t>(host)] = k % 6 == 5 ? random() % 2 == 0 : chosen[s];
    const auto in = std::ranges::count(inside, true);
    if (in == 0 || in == static_cast<std::ptrdiff_t>(inside.size())) continue;
    const double ratio = cut(found, inside) / cut(truth, inside);
    ++result.cuts;
    if (std::abs(ratio - 1) <= 0.1) ++result.right;
    if (ratio < 0.5) ++result.halved;
  }
  if (tell) {
    std::cerr << truth.name << ": " << truth.hosts() << " hosts, " << sites.size() << " sites, "
              << result.right << " of " << result.cuts << " cuts, halved " << result.halved << ", "
              << result.seconds << " s, " << prober.runs << " runs, " << truth.links.size()
              << " links, " << rates.trunks.size() << " trunks\n";
    for (auto& [what, time] : prober.spent)
      std::cerr << "   " << what << " " << 1e-9 * static_cast<double>(time) << "\n";
    if (result.right < result.cuts) {
      for (auto& link : truth.links)
        std::cerr << "      true " << link.name << " " << link.capacity.value() << "\n";
      for (auto& trunk : rates.trunks)
        std::cerr << "      found " << trunk.name << " " << trunk.capacity.value() << "\n";
    }
  }
  return result;
}

} // namespace

TEST_CASE("drawn networks") {
  const char* only = std::getenv("SEED");
  std::size_t cuts = 0, right = 0, halved = 0;
  double seconds = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    if (only && seed != std::stoul(only)) continue;
    const auto truth = Drawing(seed).draw();
    const auto v = probe_and_compare(truth, seed, true);
    cuts += v.cuts, right += v.right, halved += v.halved, seconds += v.seconds;
  }
  std::cerr << "ALL " << right << " of " << cuts << " = " << double(right) / double(cuts)
            << ", halved " << halved << ", " << seconds << " s\n";
}
