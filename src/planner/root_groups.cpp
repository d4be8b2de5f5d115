#include "planner/root_groups.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace thalweg::planner {

namespace {

using network::Network;
using network::Placement;

/// The properties of a host's place in the network that matter for a root.
struct Place {
  std::size_t site = 0;
  /// Capacities, and medians of its links' rates and latencies, out and in.
  std::array<double, 6> measures{};

  /// Whether the best plan with one host as the root is likely to be the best with the other.
  [[nodiscard]] bool is_like(const Place& other) const {
    for (std::size_t i = 0; i < measures.size(); ++i)
      if (!(measures[i] <= likeness * other.measures[i] &&
            other.measures[i] <= likeness * measures[i]))
        return false;
    return site == other.site;
  }

private:
  static constexpr double likeness = 1.3;
};

Place place_of(const Network& network, const std::vector<network::HostId>& used,
               network::HostId host) {
  Place place;
  for (std::size_t site = 0; site < network.sites.size(); ++site)
    if (std::ranges::find(network.sites[site], host) != network.sites[site].end())
      place.site = site;
  const auto median = [&](auto value) {
    std::vector<double> values;
    for (const network::HostId other : used)
      if (other != host) values.push_back(value(other).value());
    if (values.empty()) return 0.0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
  };
  const network::Host& ports = network.hosts[static_cast<std::size_t>(host)];
  place.measures = {ports.egress.value(),
                    ports.ingress.value(),
                    median([&](network::HostId other) { return network.bandwidth(host, other); }),
                    median([&](network::HostId other) { return network.bandwidth(other, host); }),
                    median([&](network::HostId other) { return network.latency(host, other); }),
                    median([&](network::HostId other) { return network.latency(other, host); })};
  return place;
}

} // namespace

std::vector<std::size_t> root_groups(const Network& network, const Placement& placement) {
  const std::vector<network::HostId> used = network::used_hosts(placement);
  std::vector<Place> groups; // one for the first host of each
  std::vector<std::size_t> of_host(network.hosts.size()), result;
  for (const network::HostId host : used) {
    const Place place = place_of(network, used, host);
    const auto found =
        std::ranges::find_if(groups, [&](const Place& group) { return group.is_like(place); });
    of_host[static_cast<std::size_t>(host)] = static_cast<std::size_t>(found - groups.begin());
    if (found == groups.end()) groups.push_back(place);
  }
  for (const network::HostId host : placement)
    result.push_back(of_host[static_cast<std::size_t>(host)]);
  return result;
}

} // namespace thalweg::planner
