#include "probe/capacities.hpp"

#include "probe/transfer.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace thalweg::probe {
namespace {

/// Flows that together get less than this share of what they get alone have filled something.
constexpr double filled = 0.85;
/// Streams of several flows are this much longer than those of one: they start and end at different
/// times.
constexpr Nanoseconds overlap = 4;

/// Flows that may share something.
struct Crowd {
  std::vector<Arrow> flows;
  double fair =
      1; ///< the share of its own rate that each is likely to get, so that all last equally long
};

class Crowds {
public:
  Crowds(Coordinator& coordinator, const Latencies& latencies, const Bandwidths& bandwidths,
         Size eager_limit)
      : _coordinator(coordinator), _latencies(latencies), _bandwidths(bandwidths),
        _eager_limit(eager_limit) {}

  /// Runs all crowds at the same time. The rate of each: of all its flows together if that is
  /// clearly below the sum of what each gets alone, else none.
  [[nodiscard]] std::vector<std::optional<Rate>> run(const std::vector<Crowd>& crowds) const {
    std::vector<Burst> bursts;
    for (const auto& crowd : crowds)
      append_bursts(crowd, bursts);
    const auto flows = transfer_all(_coordinator, bursts, 0, "measuring capacities");
    std::vector<std::optional<Rate>> rates;
    std::size_t at = 0;
    for (const auto& crowd : crowds) {
      const auto rate = aggregate_rate(std::span(flows).subspan(at, crowd.flows.size()));
      at += crowd.flows.size();
      double alone = 0;
      for (auto [from, to] : crowd.flows)
        alone += _bandwidths.rate(from, to).value();
      const bool shared = rate != Rate(0) && rate.value() < filled * alone;
      rates.push_back(shared ? std::optional(rate) : std::nullopt);
    }
    return rates;
  }

private:
  void append_bursts(const Crowd& crowd, std::vector<Burst>& bursts) const {
    Nanoseconds round_trip = 0;
    for (auto [from, to] : crowd.flows)
      round_trip = std::max(round_trip, _latencies.round_trip(from, to));
    const double seconds =
        1e-9 * static_cast<double>(2 * slow_start(round_trip) +
                                   overlap * long_enough(_coordinator, round_trip));
    for (auto [from, to] : crowd.flows) {
      const auto pace =
          pace_for(seconds * crowd.fair * _bandwidths.rate(from, to).value(), _eager_limit);
      bursts.push_back({from, to, pace.count, pace.size});
    }
  }

  Coordinator& _coordinator;
  const Latencies& _latencies;
  const Bandwidths& _bandwidths;
  Size _eager_limit;
};

/// The hosts whose capacities are measured at the same time: one of each site, so that nothing is
/// shared.
std::vector<std::vector<HostId>> shifts(const Sites& sites) {
  std::vector<std::vector<HostId>> result;
  for (std::size_t i = 0;; ++i) {
    std::vector<HostId> shift;
    for (const auto& site : sites)
      if (site.size() > 1 && i < site.size()) shift.push_back(site[i]);
    if (shift.empty()) break;
    result.push_back(std::move(shift));
  }
  for (const auto& site : sites)
    if (site.size() == 1) result.push_back(site);
  return result;
}

/// The hosts of `host`'s site, or of all if it is alone, in turn from the one after it, so that not
/// all hosts measure with the same one.
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

/// All flows out of, or into, a host from its neighbours whose own rate is measured.
std::vector<Arrow> star(HostId hub, const Sites& sites, bool out, const Bandwidths& bandwidths) {
  std::vector<Arrow> flows;
  for (HostId peer : neighbours(hub, sites)) {
    const Arrow flow = out ? Arrow{hub, peer} : Arrow{peer, hub};
    if (bandwidths.measured(flow.from, flow.to)) flows.push_back(flow);
  }
  return flows;
}

/// Doubles the flows of each hub until something is filled; infinite where nothing is.
void measure_hosts(const Crowds& crowds, std::vector<HostId> hubs, const Sites& sites, bool out,
                   const Bandwidths& bandwidths, std::vector<Rate>& capacity) {
  for (std::size_t count = 2; !hubs.empty(); count *= 2) {
    std::vector<Crowd> stars;
    std::erase_if(hubs, [&](HostId hub) {
      auto flows = star(hub, sites, out, bandwidths);
      if (flows.size() < 2) return true; // not measured
      capacity[static_cast<std::size_t>(hub)] = Rate::infinity();
      if (flows.size() <= count / 2) return true; // all of them filled nothing
      flows.resize(std::min(flows.size(), count));
      stars.push_back({flows, 1.0 / static_cast<double>(flows.size())});
      return false;
    });
    if (stars.empty()) return;
    const auto rates = crowds.run(stars);
    for (std::size_t i = hubs.size(); i-- > 0;) {
      if (!rates[i]) continue;
      capacity[static_cast<std::size_t>(hubs[i])] = *rates[i];
      hubs.erase(hubs.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

/// All hosts of one site to those of the other, in pairs whose own rate is measured.
Crowd between(const std::vector<HostId>& from, const std::vector<HostId>& to,
              const Bandwidths& bandwidths) {
  Crowd crowd;
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i)
    if (bandwidths.measured(from[i], to[i])) crowd.flows.push_back({from[i], to[i]});
  return crowd;
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

Capacities measure_capacities(Coordinator& coordinator, const Latencies& latencies,
                              const Sites& sites, const Bandwidths& bandwidths, Size eager_limit,
                              double share) {
  const auto hosts = static_cast<std::size_t>(coordinator.hosts());
  const auto deadline = coordinator.deadline(share);
  const Crowds crowds(coordinator, latencies, bandwidths, eager_limit);
  Capacities result{std::vector<Rate>(hosts, Rate(0)), std::vector<Rate>(hosts, Rate(0)), {}};
  const auto turns = shifts(sites);
  const auto steps = sites.size() * (sites.size() - 1) + turns.size();
  std::size_t step = 0;

  for (std::size_t s = 0; s < sites.size(); ++s)
    for (std::size_t t = 0; t < sites.size(); ++t) {
      if (s == t) continue;
      const auto crowd = between(sites[s], sites[t], bandwidths);
      if (now() > deadline || crowd.flows.size() < 2) continue;
      if (const auto rate = crowds.run({crowd}).front())
        result.trunks.push_back({trunk_name(s, t), sites[s], sites[t], *rate});
      coordinator.report.progress("capacities", ++step, steps);
    }
  for (const auto& turn : turns) {
    if (now() > deadline) break;
    measure_hosts(crowds, turn, sites, true, bandwidths, result.egress);
    measure_hosts(crowds, turn, sites, false, bandwidths, result.ingress);
    coordinator.report.progress("capacities", ++step, steps);
  }
  fill(result.egress);
  fill(result.ingress);
  return result;
}

} // namespace thalweg::probe
