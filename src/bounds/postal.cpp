#include "bounds/postal.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace thalweg::bounds {
namespace {

std::size_t index(HostId host) { return static_cast<std::size_t>(host); }

using Slots = std::priority_queue<double, std::vector<double>, std::greater<>>;

/// What the hosts that are to hear have in common.
struct Listeners {
  Listeners(const Reach& reach, const Distances& earliest, const std::vector<HostId>& of)
      : hosts(of), least(of.size(), Reach::unlimited) {
    for (const HostId host : hosts)
      distances.push_back(earliest[index(host)]);
    std::ranges::sort(distances);
    for (const HostId from : hosts)
      for (std::size_t i = 0; i < hosts.size(); ++i)
        if (from != hosts[i]) least[i] = std::min(least[i], reach.latency(from, hosts[i]));
  }
  /// By how much messages from outside take longer at least.
  [[nodiscard]] double longer(const Reach& reach, HostId from) const {
    double more = Reach::unlimited;
    for (std::size_t i = 0; i < hosts.size(); ++i)
      more = std::min(more, reach.latency(from, hosts[i]) - least[i]);
    return more;
  }

  const std::vector<HostId>& hosts;
  std::vector<double> distances; ///< ascending
  std::vector<double> least;     ///< latency from another one of them, by host
};

/// When the first, second, ... of the listeners has heard, given the others' first slots.
std::vector<double> times(const Reach& reach, const Listeners& listeners, Slots slots) {
  std::vector<double> least = listeners.least, begun, result;
  std::ranges::sort(least);
  double heard = 0;
  for (std::size_t k = 0; k < least.size(); ++k) {
    begun.push_back(slots.top());
    slots.pop();
    slots.push(begun.back() + reach.send);
    heard = std::max(heard, listeners.distances[k]);
    for (std::size_t i = 0; i <= k; ++i)
      heard = std::max(heard, begun[i] + least[k - i]);
    slots.push(heard);
    result.push_back(heard);
  }
  return result;
}

/// The same if all others have heard when their distance is over.
std::vector<double> times(const Reach& reach, const Listeners& listeners,
                          const Distances& earliest) {
  std::vector<char> listens(earliest.size());
  for (const HostId host : listeners.hosts)
    listens[index(host)] = 1;
  Slots slots;
  for (HostId from = 0; from < reach.size(); ++from)
    if (listens[index(from)] == 0)
      slots.push(earliest[index(from)] + listeners.longer(reach, from));
  return times(reach, listeners, std::move(slots));
}

} // namespace

double postal_time(const Reach& reach, HostId source, const Distances& earliest,
                   const std::vector<HostId>& hosts) {
  if (hosts.empty()) return 0;
  const Listeners listeners(reach, earliest, hosts);
  if (hosts.size() < 2 || reach.send <= 0) return listeners.distances.back();
  std::vector<char> listens(earliest.size());
  for (const HostId host : hosts)
    listens[index(host)] = 1;
  std::vector<HostId> outside;
  for (HostId host = 0; host < reach.size(); ++host)
    if (host != source && listens[index(host)] == 0) outside.push_back(host);

  Slots slots;
  slots.push(listeners.longer(reach, source));
  if (outside.size() > 1) {
    std::vector<double> first;
    double least = Reach::unlimited;
    for (const HostId host : outside) {
      const double longer = listeners.longer(reach, host);
      least = std::min(least, longer);
      first.push_back(earliest[index(host)] + longer);
    }
    std::ranges::sort(first);
    const std::vector<double> heard = times(reach, Listeners(reach, earliest, outside), earliest);
    for (std::size_t k = 0; k < first.size(); ++k)
      slots.push(std::max(first[k], heard[k] + least));
  } else if (outside.size() == 1) {
    slots.push(earliest[index(outside.front())] + listeners.longer(reach, outside.front()));
  }
  return times(reach, listeners, std::move(slots)).back();
}

} // namespace thalweg::bounds
