/// Bounds of collectives in which every host needs to hear from every other: allreduce and barrier,
/// and parts that other collectives share with them.
#include "bounds/postal.hpp"
#include "bounds/view.hpp"
#include "units/index.hpp"

#include <algorithm>

namespace thalweg::bounds {
namespace {

/// Sources that are tried where any would do.
constexpr HostId most_sources = 16;

} // namespace

void add_latencies(const Reach& reach, Largest& largest) {
  if (reach.is_small()) {
    for (HostId from = 0; from < reach.size(); ++from)
      for (HostId to = 0; to < reach.size(); ++to)
        if (from != to) largest.add_latency(reach, from, to, reach.distance(from, to));
    return;
  }
  // Goes from one host to the farthest, and from there to the farthest again.
  HostId from = 0;
  for (int sweep = 0; sweep < 4; ++sweep) {
    const Distances distances = reach.distances_from(from);
    const auto to = static_cast<HostId>(std::ranges::max_element(distances) - distances.begin());
    largest.add_latency(reach, from, to, distances[index(to)]);
    from = to;
  }
}

void add_latencies(const Reach& reach, const Set& sources,
                   const std::function<bool(HostId, HostId)>& hears, Largest& largest) {
  std::vector<HostId> hosts;
  for (HostId host = 0; host < reach.size(); ++host)
    if (sources[index(host)] != 0) hosts.push_back(host);
  const std::size_t step = 1 + hosts.size() / index(most_sources);
  for (std::size_t at = 0; at < hosts.size(); at += step) {
    const Distances distances = reach.distances_from(hosts[at]);
    for (HostId to = 0; to < reach.size(); ++to)
      if (to != hosts[at] && hears(hosts[at], to))
        largest.add_latency(reach, hosts[at], to, distances[index(to)]);
  }
}

void add_postal(const View& view, HostId source, const Distances& distances, const Set& heard,
                Largest& largest) {
  const Reach& reach = view.reach;
  if (reach.send <= 0) return; // Then the latencies are the limit.
  const auto add = [&](const std::vector<HostId>& hosts) {
    if (hosts.empty()) return;
    const double time = postal_time(reach, source, distances, hosts);
    largest.raise(time, [&] {
      return "postal, " + reach.path(source, std::to_string(hosts.size()) + " hosts") + ": " +
             units::to_text(Time(reach.send)) + " per message at its " +
             (reach.is_transposed ? "receiver" : "sender");
    });
  };
  std::vector<HostId> all, far;
  for (const std::vector<HostId>& group : view.groups.base()) {
    std::vector<HostId> hosts;
    for (const HostId host : group)
      if (host != source && heard[index(host)] != 0) hosts.push_back(host);
    add(hosts);
    all.insert(all.end(), hosts.begin(), hosts.end());
    if (std::ranges::find(group, source) == group.end())
      far.insert(far.end(), hosts.begin(), hosts.end());
  }
  add(far);
  add(all);
}

void add_postal_of_all(const View& view, const Set& sources, Largest& largest) {
  if (view.reach.send <= 0) return;
  const Set all(index(view.reach.size()), 1);
  const HostId most = view.reach.is_small() ? most_sources : 1;
  const HostId step = (view.reach.size() + most - 1) / most;
  for (HostId source = 0; source < view.reach.size(); source += step)
    if (sources[index(source)] != 0)
      add_postal(view, source, view.reach.distances_from(source), all, largest);
}

void add_sets(View& view, const std::function<double(const Set&)>& leaves, Largest& largest) {
  for (const Set& set : view.groups.sets()) {
    const double bytes = leaves(set);
    if (bytes <= 0) continue;
    const Groups::Exit exit = view.groups.exit(set);
    largest.add_windows(exit.name, bytes, {{exit.rate, view.groups.nearest_outside(set)}});
  }
}

double within(const std::vector<double>& bytes, const Set& set) {
  double sum = 0;
  for (std::size_t host = 0; host < set.size(); ++host)
    if (set[host] != 0) sum += bytes[host];
  return sum;
}

double beyond(const std::vector<double>& bytes, const Set& set) {
  double sum = 0;
  for (std::size_t host = 0; host < set.size(); ++host)
    if (set[host] == 0) sum += bytes[host];
  return sum;
}

void add_traffic(const Reach& reach, double bytes, Largest& largest) {
  std::vector<Window> windows;
  for (HostId host = 0; host < reach.size(); ++host)
    windows.push_back({reach.cores(host) * reach.cpu, reach.send + reach.receive});
  largest.add_windows("CPUs of all " + std::to_string(reach.size()) + " hosts, in and out",
                      2 * bytes, windows);
}

/// The parts of a partition of the hosts behave as hosts do: they send each other messages, and
/// each must hear from every other. For each element that takes 2 (parts - 1) messages between
/// parts: gossip by one-way calls (Harary, Schwenk: The Communication Problem on Graphs and
/// Digraphs). Each message leaves a part; that it also enters one is counted in the other
/// direction.
void add_allreduce(View& view, double bytes, Largest& largest) {
  const Reach& reach = view.reach;
  for (HostId from = 0; from < reach.size() && reach.is_small(); ++from)
    for (HostId to = 0; to < reach.size(); ++to)
      if (from != to) largest.add_path(reach, from, to, bytes, reach.distance(from, to));
  add_latencies(reach, largest);
  const Distances now(index(reach.size()), 0);
  for (const Groups::Partition& partition : view.groups.partitions())
    largest.add_windows(partition.name, 2 * static_cast<double>(partition.parts.size() - 1) * bytes,
                        view.groups.leaving(partition, now));
  add_traffic(reach, 2 * static_cast<double>(reach.size() - 1) * bytes, largest);
  add_postal_of_all(view, Set(index(reach.size()), 1), largest);
  if (!view.cuts)
    return add_sets(
        view, [&](const Set&) { return bytes; }, largest);
  // A cut that separates two hosts separates one of them from host 0, in this direction or the
  // other.
  for (HostId host = 1; host < reach.size(); ++host)
    largest.add_cuts(*view.cuts, 0, host, bytes);
  add_covers(
      view, [&](const Set&) { return bytes; }, true, largest);
}

void add_barrier(View& view, Largest& largest) {
  add_latencies(view.reach, largest);
  add_postal_of_all(view, Set(index(view.reach.size()), 1), largest);
}

} // namespace thalweg::bounds
