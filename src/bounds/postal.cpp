#include "bounds/postal.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <queue>

namespace thalweg::bounds {
namespace {

/// When informed hosts can begin to send, the earliest first. Each has as many cores as the host
/// with the most ranks has ranks: all of them begin when it is informed, and again after each
/// `send`.
class Slots {
public:
  /// @param informed when each of the first hosts is informed
  Slots(const Reach& reach, const std::vector<double>& informed)
      : _cores(*std::ranges::max_element(reach.ranks)), _send(reach.send) {
    for (const double time : informed)
      add(time);
  }
  void add(double informed) { _batches.push({informed, _cores}); }
  /// Takes the earliest slot. O(log hosts).
  double take() {
    Batch batch = _batches.top();
    _batches.pop();
    const double begun = batch.begin;
    if (--batch.left == 0) batch = {begun + _send, _cores};
    _batches.push(batch);
    return begun;
  }

private:
  /// The slots of a host's cores that begin together and aren't taken.
  struct Batch {
    double begin;
    std::int64_t left;
    auto operator<=>(const Batch&) const = default;
  };
  std::priority_queue<Batch, std::vector<Batch>, std::greater<>> _batches;
  std::int64_t _cores;
  double _send;
};

/// The hosts to inform, and latencies between them.
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
  /// Returns the least extra latency of messages from an outside host.
  [[nodiscard]] double longer(const Reach& reach, HostId from) const {
    double more = Reach::unlimited;
    for (std::size_t i = 0; i < hosts.size(); ++i)
      more = std::min(more, reach.latency(from, hosts[i]) - least[i]);
    return more;
  }

  const std::vector<HostId>& hosts;
  std::vector<double> distances; ///< ascending
  std::vector<double> least;     ///< latency from the nearest other listener, by host
};

/// Returns when the first, second, ... of the listeners is informed, given the outside hosts'
/// slots.
std::vector<double> times(const Listeners& listeners, Slots slots) {
  std::vector<double> least = listeners.least, begun, result;
  std::ranges::sort(least);
  double heard = 0;
  for (std::size_t k = 0; k < least.size(); ++k) {
    begun.push_back(slots.take());
    heard = std::max(heard, listeners.distances[k]);
    for (std::size_t i = 0; i <= k; ++i)
      heard = std::max(heard, begun[i] + least[k - i]);
    slots.add(heard);
    result.push_back(heard);
  }
  return result;
}

std::vector<HostId> outside(const Reach& reach, HostId source, const std::vector<HostId>& hosts) {
  std::vector<char> out(index(reach.size()), 1);
  out[index(source)] = 0;
  for (const HostId host : hosts)
    out[index(host)] = 0;
  std::vector<HostId> result;
  for (HostId host = 0; host < reach.size(); ++host)
    if (out[index(host)] != 0) result.push_back(host);
  return result;
}

/// Returns the first slots of outside hosts, ascending, if each is informed once its distance has
/// passed.
std::vector<double> first_slots(const Reach& reach, const Listeners& listeners,
                                const Distances& earliest, const std::vector<HostId>& others) {
  std::vector<double> first;
  for (const HostId host : others)
    first.push_back(earliest[index(host)] + listeners.longer(reach, host));
  std::ranges::sort(first);
  return first;
}

} // namespace

double postal_time(const Reach& reach, HostId source, const Distances& earliest,
                   const std::vector<HostId>& hosts) {
  if (hosts.empty()) return 0;
  const Listeners listeners(reach, earliest, hosts);
  if (hosts.size() < 2 || reach.send <= 0) return listeners.distances.back();
  const std::vector<HostId> others = outside(reach, source, hosts);
  std::vector<double> first = first_slots(reach, listeners, earliest, others);
  const double own = listeners.longer(reach, source);
  if (others.size() > 1 && reach.is_small()) { // in O(hosts^2) for each group of hosts
    const Listeners between(reach, earliest, others);
    std::vector<double> known = first_slots(reach, between, earliest, hosts);
    known.push_back(between.longer(reach, source));
    const std::vector<double> heard = times(between, Slots(reach, known));
    double least = Reach::unlimited;
    for (const HostId host : others)
      least = std::min(least, listeners.longer(reach, host));
    for (std::size_t k = 0; k < first.size(); ++k)
      first[k] = std::max(first[k], heard[k] + least);
  }
  first.push_back(own);
  return times(listeners, Slots(reach, first)).back();
}

} // namespace thalweg::bounds
