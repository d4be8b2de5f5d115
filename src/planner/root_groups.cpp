#include "planner/root_groups.hpp"

#include "network/host_classes.hpp"
#include "units/index.hpp"
#include "units/upper_median.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

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

/// Medians of a host's links' rates and latencies, out and in.
using LinkMedians = std::array<double, 4>;

LinkMedians link_medians(const Network& network, const std::vector<network::HostId>& used,
                         network::HostId host) {
  const auto median = [&](auto value) {
    std::vector<double> values;
    for (const network::HostId other : used)
      if (other != host) values.push_back(value(other).value());
    return values.empty() ? 0.0 : upper_median(std::move(values));
  };
  return {median([&](network::HostId other) { return network.bandwidth(host, other); }),
          median([&](network::HostId other) { return network.bandwidth(other, host); }),
          median([&](network::HostId other) { return network.latency(host, other); }),
          median([&](network::HostId other) { return network.latency(other, host); })};
}

/// The places of hosts. Hosts of a class have the same medians, which are found once.
class Places {
public:
  Places(const Network& network, const std::vector<network::HostId>& used)
      : _network(network), _used(used), _classes(network::host_classes(network)),
        _medians(_classes.members.size()), _site_of(network::sites_of_hosts(network, 0)) {}

  Place of(network::HostId host) {
    std::optional<LinkMedians>& medians = _medians[index(_classes.of[index(host)])];
    if (!medians) medians = link_medians(_network, _used, host);
    const auto& [rate_out, rate_in, latency_out, latency_in] = *medians;
    const network::Host& ports = _network.hosts[index(host)];
    Place place;
    place.site = index(_site_of[index(host)]);
    place.measures = {
        ports.egress.value(), ports.ingress.value(), rate_out, rate_in, latency_out, latency_in};
    return place;
  }

private:
  const Network& _network;
  const std::vector<network::HostId>& _used;
  network::HostClasses _classes;
  std::vector<std::optional<LinkMedians>> _medians; ///< by class
  std::vector<std::int32_t> _site_of;               ///< by host
};

} // namespace

std::vector<std::size_t> root_groups(const Network& network, const Placement& placement) {
  const std::vector<network::HostId> used = network::used_hosts(placement);
  Places places(network, used);
  std::vector<Place> groups; // one for the first host of each
  std::vector<std::size_t> of_host(network.hosts.size()), result;
  for (const network::HostId host : used) {
    const Place place = places.of(host);
    const auto found =
        std::ranges::find_if(groups, [&](const Place& group) { return group.is_like(place); });
    of_host[index(host)] = static_cast<std::size_t>(found - groups.begin());
    if (found == groups.end()) groups.push_back(place);
  }
  for (const network::HostId host : placement)
    result.push_back(of_host[index(host)]);
  return result;
}

} // namespace thalweg::planner
