#pragma once

#include "bench/topologies.hpp"
#include "probe/rates.hpp"
#include "probe/sites.hpp"

#include <numeric>

/// What a probe of a simulated network found, against the truth.
namespace thalweg::probe::simulated {

/// How a simulated probe runs.
struct Conditions {
  Time budget{600};    ///< enough for all drawn networks, some of which have round trips of 150 ms
  double noise = 0.02; ///< as that of SimulatedProber, like the following
  double stray = 0;
  bool crossed = false, unfair = false;
  Time begin{}; ///< when the search for rates begins
};

struct Probed {
  Sites sites;
  Rates rates;
  std::map<std::string, Nanoseconds> spent; ///< by what for
  Time end{};
};

inline Probed run(const Topology& truth, unsigned seed, const Conditions& conditions) {
  SimulatedProber prober(truth, conditions.budget, conditions.noise, seed, conditions.begin);
  prober.stray = conditions.stray, prober.crossed = conditions.crossed;
  prober.unfair = conditions.unfair;
  const auto sites = find_sites(truth.latency);
  auto rates = measure_rates(prober, latencies_of(truth), sites, 65536);
  return {sites, std::move(rates), prober.spent, Time(static_cast<double>(prober.clock()) * 1e-9)};
}

/// Returns what was measured in the form of the truth.
inline Topology measured(const Rates& rates, const Topology& truth) {
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

/// Returns what flows from all of some hosts to all of some others get together.
inline Rate between(const Topology& net, const std::vector<HostId>& from,
                    const std::vector<HostId>& to) {
  std::vector<Flow> flows;
  std::vector<Rate> limits;
  for (HostId a : from)
    for (HostId b : to)
      flows.push_back({a, b}), limits.push_back(net.rate(a, b));
  const auto rates = shares(net, flows, limits);
  return std::accumulate(rates.begin(), rates.end(), Rate(0));
}

/// Hosts that send, and hosts that receive.
struct Cut {
  std::vector<HostId> from, to;
};

/// Returns every ordered pair of sites, and cuts drawn between all hosts, most of them between
/// sites.
inline std::vector<Cut> cuts(const Sites& sites, unsigned seed) {
  constexpr int drawn = 60;
  std::vector<Cut> result;
  for (const auto& from : sites)
    for (const auto& to : sites)
      if (&from != &to) result.push_back({from, to});
  std::mt19937 random(seed);
  for (int k = 0; k < drawn; ++k) {
    Cut cut;
    const bool by_host = k % 6 == 5;
    for (const auto& site : sites) {
      const bool all = random() % 2 == 0;
      for (HostId host : site)
        ((by_host ? random() % 2 == 0 : all) ? cut.from : cut.to).push_back(host);
    }
    if (!cut.from.empty() && !cut.to.empty()) result.push_back(std::move(cut));
  }
  return result;
}

/// How far what was found is from the truth.
struct Judgement {
  std::size_t cuts = 0, right = 0; ///< within the tolerance
  double least = 1, most = 1;      ///< of what was found, in the truth's, over all cuts

  void add(double ratio) {
    constexpr double tolerance = 0.1;
    ++cuts, right += std::abs(ratio - 1) <= tolerance ? 1 : 0;
    least = std::min(least, ratio), most = std::max(most, ratio);
  }
};

inline Judgement judge(const Topology& truth, const Probed& probed, unsigned seed) {
  const auto found = measured(probed.rates, truth);
  Judgement judgement;
  for (const auto& [from, to] : cuts(probed.sites, seed))
    judgement.add(between(found, from, to) / between(truth, from, to));
  return judgement;
}

} // namespace thalweg::probe::simulated
