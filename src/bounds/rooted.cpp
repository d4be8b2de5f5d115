/// Bounds of bcast and scatter; with time running backwards, of reduce and gather.
#include "bounds/view.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <numeric>

namespace thalweg::bounds {
namespace {

/// The most sets of sinks, by their distance from the root, that are tried.
constexpr std::size_t most_distances = 6;

/// Returns the distances that are much larger than the next smaller one, ascending.
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
/// backwards every such host sends it to some host, since combined data is as long as each
/// contribution. So in every partition all parts but one receive the data, and each time some part
/// sends it.
void add_bcast(View& view, HostId root, double bytes, Largest& largest) {
  const Reach& reach = view.reach;
  const Distances distances = reach.distances_from(root);
  for (HostId host = 0; host < reach.size(); ++host)
    if (host != root) largest.add_path(reach, root, host, bytes, distances[index(host)]);
  // A port is of no use before the root's data can be there, nor when what it sends can't arrive in
  // time.
  for (const Groups::Partition& partition : view.groups.partitions())
    largest.add_windows(partition.name, static_cast<double>(partition.parts.size() - 1) * bytes,
                        view.groups.leaving(partition, distances));
  add_traffic(reach, static_cast<double>(reach.size() - 1) * bytes, largest);
  add_postal(view, root, distances, Set(index(reach.size()), 1), largest);
  const auto leaves = [&](const Set& set) { return set[index(root)] != 0 ? bytes : 0; };
  if (!view.cuts) return add_sets(view, leaves, largest);
  for (HostId host = 0; host < reach.size(); ++host)
    if (host != root) largest.add_cuts(*view.cuts, root, host, bytes);
  add_covers(view, leaves, false, largest);
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
    largest.add_path(reach, root, host, sent[index(host)], distances[index(host)]);
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
    demand.path = reach.path(root, std::to_string(count) + (count == 1 ? " host" : " hosts"));
    largest.add_cuts(*view.cuts, demand);
  }
}

} // namespace thalweg::bounds
