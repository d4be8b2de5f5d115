/// Bounds of bcast and scatter; with time running backwards, of reduce and gather.
#include "bounds/view.hpp"

#include <algorithm>
#include <numeric>

namespace thalweg::bounds {
namespace {

/// Sets of sinks, by their distance from the root, that are looked at.
constexpr std::size_t most_distances = 6;

std::size_t index(HostId host) { return static_cast<std::size_t>(host); }

/// The distances at which those begin that are a good deal farther than the ones before, nearest
/// first.
std::vector<double> distance_steps(Distances distances) {
  constexpr double step = 1.5;
  std::ranges::sort(distances);
  std::vector<double> steps = {distances.front()};
  for (std::size_t i = 1; i < distances.size(); ++i)
    if (distances[i] > distances[i - 1] * step) steps.push_back(distances[i]);
  if (steps.size() > most_distances)
    steps.erase(steps.begin() + 1, steps.end() - (most_distances - 1));
  return steps;
}

} // namespace

/// Every host but the root's receives all of the data, sent by some host. With time running
/// backwards it sends it, to some host, since what it has combined is as long as what it began
/// with. So the parts that hosts are divided into receive it, all but one of them, and some part
/// sends it each time.
void add_bcast(View& view, HostId root, double bytes, Largest& largest) {
  const Reach& reach = view.reach;
  const Distances distances = reach.distances_from(root);
  for (HostId host = 0; host < reach.size(); ++host)
    if (host != root) largest.add_way(reach, root, host, bytes, distances[index(host)]);
  // A port doesn't help before the root's data can be there, nor when its own can't arrive any
  // more.
  for (const Groups::Partition& partition : view.groups.partitions())
    largest.add_windows(partition.name, static_cast<double>(partition.parts.size() - 1) * bytes,
                        view.groups.leaving(partition, distances));
  add_traffic(reach, static_cast<double>(reach.size() - 1) * bytes, largest);
  add_postal(view, root, distances, Set(index(reach.size()), 1), largest);
  const auto leaves = [&](const Set& set) { return set[index(root)] != 0 ? bytes : 0; };
  if (!view.cuts) return add_sets(view, leaves, largest);
  for (HostId host = 0; host < reach.size(); ++host)
    if (host != root) largest.add_cuts(*view.cuts, root, host, bytes);
}

void add_scatter(View& view, HostId root, const std::vector<double>& bytes, Largest& largest) {
  const Reach& reach = view.reach;
  const Distances distances = reach.distances_from(root);
  std::vector<double> sent = bytes;
  sent[index(root)] = 0;
  Distances sinks;
  Set heard(bytes.size());
  for (HostId host = 0; host < reach.size(); ++host) {
    if (sent[index(host)] <= 0) continue;
    largest.add_way(reach, root, host, sent[index(host)], distances[index(host)]);
    sinks.push_back(distances[index(host)]);
    heard[index(host)] = 1;
  }
  if (sinks.empty()) return;
  largest.add_deliveries(reach, root, sent, distances);
  add_traffic(reach, std::accumulate(sent.begin(), sent.end(), 0.0), largest);
  add_postal(view, root, distances, heard, largest);
  const auto leaves = [&](const Set& set) { return set[index(root)] != 0 ? beyond(sent, set) : 0; };
  if (!view.cuts) return add_sets(view, leaves, largest);
  for (const double least : distance_steps(sinks)) {
    Demand demand{root, sent, {}};
    std::size_t count = 0;
    for (std::size_t host = 0; host < sent.size(); ++host)
      if (distances[host] < least)
        demand.bytes[host] = 0;
      else if (sent[host] > 0)
        ++count;
    demand.way = reach.way(root, std::to_string(count) + (count == 1 ? " host" : " hosts"));
    largest.add_cuts(*view.cuts, demand);
  }
}

} // namespace thalweg::bounds
