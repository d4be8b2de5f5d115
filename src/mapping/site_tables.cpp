#include "mapping/site_tables.hpp"

#include "network/host_classes.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thalweg::mapping {
namespace {

/// Returns the mean over all libraries of what a message costs its ends; 0 if nothing is known.
double mean_message_cost(const Network& network) {
  double sum = 0;
  for (const auto& [library, cost] : network.message_costs)
    sum += (cost.send + cost.receive).value();
  return network.message_costs.empty() ? 0
                                       : sum / static_cast<double>(network.message_costs.size());
}

/// Returns the hosts with slots, by site.
std::vector<std::vector<HostId>> usable_by_site(const Problem& problem, std::size_t sites,
                                                const std::vector<std::int32_t>& site_of) {
  std::vector<std::vector<HostId>> usable(sites);
  for (HostId host = 0; host < problem.network.size(); ++host)
    if (problem.slots[index(host)] > 0) usable[index(site_of[index(host)])].push_back(host);
  return usable;
}

/// Returns a host that stands for a site: the first one that ranks can be on, if there is any.
HostId first_of(const std::vector<HostId>& site, const std::vector<std::int32_t>& slots) {
  const auto usable =
      std::ranges::find_if(site, [&](HostId host) { return slots[index(host)] > 0; });
  return usable == site.end() ? site.front() : *usable;
}

} // namespace

SiteTables::SiteTables(const Problem& problem) : message_cost(mean_message_cost(problem.network)) {
  describe_hosts(problem);
  describe_sites(problem);
}

void SiteTables::describe_hosts(const Problem& problem) {
  const Network& network = problem.network;
  site_of = network::sites_of_hosts(network, 0);
  const auto usable =
      usable_by_site(problem, std::max<std::size_t>(1, network.sites.size()), site_of);
  for (HostId host = 0; host < network.size(); ++host) {
    double sum = 0, out = 0, in = 0, others = 0;
    for (const HostId other : usable[index(site_of[index(host)])]) {
      if (other == host) continue;
      sum += network.latency(host, other).value();
      out = std::max(out, network.bandwidth(host, other).value());
      in = std::max(in, network.bandwidth(other, host).value());
      ++others;
    }
    const network::Host& ports = network.hosts[index(host)];
    const auto rate = [&](units::Rate port, double pair) {
      return std::isfinite(port.value()) || pair == 0 ? port.value() : pair;
    };
    latency.push_back(others > 0 ? sum / others : 0);
    out_rate.push_back(rate(ports.egress, out));
    in_rate.push_back(rate(ports.ingress, in));
  }
}

void SiteTables::describe_sites(const Problem& problem) {
  const Network& network = problem.network;
  const std::size_t count = std::max<std::size_t>(1, network.sites.size());
  const network::TrunkSets trunks(network);
  between = network::Matrix<double>(count);
  rate = network::Matrix<double>(count);
  has_trunk = network::Matrix<char>(count);
  std::vector<HostId> first;
  for (const std::vector<HostId>& site : network.sites)
    first.push_back(first_of(site, problem.slots));
  for (std::size_t a = 0; a < first.size(); ++a)
    for (std::size_t b = 0; b < first.size(); ++b) {
      if (a == b) continue;
      const HostId from = first[a], to = first[b];
      const auto at = static_cast<HostId>(a), other = static_cast<HostId>(b);
      between(at, other) = network.latency(from, to).value();
      rate(at, other) = network.bandwidth(from, to).value();
      double least = std::numeric_limits<double>::infinity();
      for (const std::int32_t trunk : trunks.between(from, to))
        least = std::min(least, network.trunks[index(trunk)].capacity.value());
      if (!std::isfinite(least)) continue;
      has_trunk(at, other) = 1;
      rate(at, other) = least;
    }
}

std::shared_ptr<const SiteTables> tables_for(const Problem& problem) {
  return problem.calls.empty() ? nullptr : std::make_shared<const SiteTables>(problem);
}

} // namespace thalweg::mapping
