#include "bounds/postal.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace thalweg::bounds {
namespace {

std::size_t index(HostId host) { return static_cast<std::size_t>(host); }

using Slots = std::priority_queue<double, std::vector<double>, std::greater<>>;

/// The first slots of the hosts outside, each as if its messages took no longer than those inside.
Slots outside_slots(const Reach& reach, const Distances& earliest, const std::vector<HostId>& hosts,
                    const std::vector<double>& least) {
  std::vector<char> inside(earliest.size());
  for (const HostId host : hosts)
    inside[index(host)] = 1;
  Slots slots;
  for (HostId from = 0; from < reach.size(); ++from) {
    if (inside[index(from)] != 0) continue;
    double more = Reach::unlimited;
    for (std::size_t i = 0; i < hosts.size(); ++i)
      more = std::min(more, reach.latency(from, hosts[i]) - least[i]);
    slots.push(earliest[index(from)] + more);
  }
  return slots;
}

} // namespace

double postal_time(const Reach& reach, const Distances& earliest,
                   const std::vector<HostId>& hosts) {
  std::vector<double> distances, least(hosts.size(), Reach::unlimited);
  for (const HostId host : hosts)
    distances.push_back(earliest[index(host)]);
  std::ranges::sort(distances);
  if (hosts.size() < 2 || reach.send <= 0) return hosts.empty() ? 0 : distances.back();
  for (const HostId from : hosts)
    for (std::size_t i = 0; i < hosts.size(); ++i)
      if (from != hosts[i]) least[i] = std::min(least[i], reach.latency(from, hosts[i]));

  Slots slots = outside_slots(reach, earliest, hosts, least);
  std::ranges::sort(least);
  std::vector<double> begun;
  double heard = 0;
  for (std::size_t k = 0; k < hosts.size(); ++k) {
    begun.push_back(slots.top());
    slots.pop();
    slots.push(begun.back() + reach.send);
    heard = std::max(heard, distances[k]);
    for (std::size_t i = 0; i <= k; ++i)
      heard = std::max(heard, begun[i] + least[k - i]);
    slots.push(heard);
  }
  return heard;
}

} // namespace thalweg::bounds
