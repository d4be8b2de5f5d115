#include "probe/capacities.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "probe/transfer.hpp"

namespace thalweg::probe {
namespace {

/// Flows that together get less than this share of what they get alone have filled something.
constexpr double filled = 0.85;
/// A stream of several is this much longer than of one: the flows start and end at different times.
constexpr double overlap = 2;

class Crowd {
public:
  Crowd(Coordinator& coordinator, const Latencies& latencies, const Matrix<Rate>& bandwidth)
      : _coordinator(coordinator), _latencies(latencies), _bandwidth(bandwidth) {}

  /// The rate of all flows together if it is clearly below the sum of what each gets alone, else none.
  /// @param fair the share of its own rate that each is likely to get, so that they last equally long
  [[nodiscard]] std::optional<Rate> together(const std::vector<Arrow>& flows, double fair) const {
    double alone = 0;
    Nanoseconds round_trip = 0;
    for (auto [from, to] : flows) {
      alone += _bandwidth(from, to).value();
      round_trip = std::max(round_trip, _latencies.round_trip(from, to));
    }
    const double seconds =
        2 * overlap * static_cast<double>(long_enough(_coordinator, round_trip)) * 1e-9;
    std::vector<Burst> bursts;
    for (auto [from, to] : flows) {
      const auto pace = pace_for(seconds * fair * _bandwidth(from, to).value());
      bursts.push_back({from, to, pace.count, pace.size});
    }
    const auto rate =
        aggregate_rate(transfer_all(_coordinator, bursts, 0, "measuring capacities"));
    if (rate == Rate(0) || rate.value() > filled * alone) return std::nullopt;
    return rate;
  }

private:
  Coordinator& _coordinator;
  const Latencies& _latencies;
  const Matrix<Rate>& _bandwidth;
};

/// The hosts of `host`'s site, or of all if it is alone, in turn from the one after it, so that not all
/// hosts measure with the same one.
std::vector<HostId> neighbours(HostId host, const Sites& sites) {
  std::vector<HostId> everyone, own;
  for (const auto& site : sites) {
    everyone.insert(everyone.end(), site.begin(), site.end());
    if (std::find(site.begin(), site.end(), host) != site.end()) own = site;
  }
  auto& pool = own.size() > 1 ? own : everyone;
  const auto self = std::find(pool.begin(), pool.end(), host);
  std::rotate(pool.begin(), self, pool.end());
  pool.erase(pool.begin());
  return pool;
}

/// Doubles the flows until something is filled.
Rate host_capacity(const Crowd& crowd, HostId host, const std::vector<HostId>& peers, bool egress) {
  for (std::size_t k = 2; k / 2 < peers.size(); k *= 2) {
    std::vector<Arrow> flows;
    for (std::size_t p = 0; p < std::min(k, peers.size()); ++p)
      flows.push_back(egress ? Arrow{host, peers[p]} : Arrow{peers[p], host});
    if (flows.size() < 2) break;
    if (const auto rate = crowd.together(flows, 1.0 / static_cast<double>(flows.size()))) return *rate;
  }
  return Rate::infinity();
}

/// The median of the capacities in `rates` (zero: not measured) for those that were not.
void fill(std::vector<Rate>& rates) {
  std::vector<double> known;
  for (Rate rate : rates)
    if (rate != Rate(0)) known.push_back(rate.value());
  const Rate guess = known.empty() ? Rate::infinity() : Rate(median(known));
  std::replace(rates.begin(), rates.end(), Rate(0), guess);
}

std::string trunk_name(std::size_t from, std::size_t to) {
  return "site " + std::to_string(from) + " to " + std::to_string(to);
}

} // namespace

Capacities measure_capacities(Coordinator& coordinator, const Latencies& latencies, const Sites& sites,
                              const Matrix<Rate>& bandwidth, double share) {
  const auto hosts = static_cast<std::size_t>(coordinator.hosts());
  const auto deadline = coordinator.deadline(share);
  const Crowd crowd(coordinator, latencies, bandwidth);
  Capacities result{std::vector<Rate>(hosts, Rate(0)), std::vector<Rate>(hosts, Rate(0)), {}};
  const auto steps = sites.size() * (sites.size() - 1) + hosts;
  std::size_t step = 0;

  for (std::size_t s = 0; s < sites.size(); ++s)
    for (std::size_t t = 0; t < sites.size(); ++t) {
      if (s == t) continue;
      std::vector<Arrow> flows;
      for (std::size_t i = 0; i < std::min(sites[s].size(), sites[t].size()); ++i)
        flows.push_back({sites[s][i], sites[t][i]});
      if (now() > deadline || flows.size() < 2) continue;
      if (const auto rate = crowd.together(flows, 1))
        result.trunks.push_back({trunk_name(s, t), sites[s], sites[t], *rate});
      coordinator.report.progress("capacities", ++step, steps);
    }
  for (std::size_t h = 0; h < hosts && now() < deadline; ++h) {
    const auto host = static_cast<HostId>(h);
    const auto peers = neighbours(host, sites);
    result.egress[h] = host_capacity(crowd, host, peers, true);
    result.ingress[h] = host_capacity(crowd, host, peers, false);
    coordinator.report.progress("capacities", ++step, steps);
  }
  fill(result.egress);
  fill(result.ingress);
  return result;
}

} // namespace thalweg::probe
