/// Bounds of reduce_scatter (with time running backwards, of allgather) and of alltoall.
#include "bounds/view.hpp"
#include "units/index.hpp"

#include <numeric>

namespace thalweg::bounds {
namespace {

/// Returns the distances from a host; with many hosts, a lower limit of them.
Distances about_from(const Reach& reach, HostId host) {
  if (reach.is_small()) return reach.distances_from(host);
  return Distances(index(reach.size()), reach.nearest_out[index(host)]);
}

/// Adds bounds of all that a host sends to others.
void add_sent(const Reach& reach, HostId from, const std::vector<double>& sent,
              const Distances& distances, Largest& largest) {
  for (HostId to = 0; to < reach.size(); ++to)
    if (sent[index(to)] > 0)
      largest.add_path(reach, from, to, sent[index(to)], distances[index(to)]);
  if (reach.is_small())
    largest.add_deliveries(reach, from, sent, distances);
  else
    largest.add_windows(reach.egress_of(reach.names[index(from)]),
                        std::accumulate(sent.begin(), sent.end(), 0.0),
                        {{reach.rate_out(from), reach.nearest_out[index(from)]}});
}

} // namespace

double Exchange::crossing(const Set& set) const {
  double sum = 0, from_ranks = 0, to_ranks = 0;
  const auto hosts = static_cast<HostId>(set.size());
  for (HostId from = 0; from < hosts; ++from) {
    (set[index(from)] != 0 ? from_ranks : to_ranks) += static_cast<double>(_ranks[index(from)]);
    for (HostId to = 0; to < hosts && _each < 0 && set[index(from)] != 0; ++to)
      if (set[index(to)] == 0) sum += _bytes(from, to);
  }
  return _each < 0 ? sum : from_ranks * to_ranks * _each;
}

Exchange Exchange::transposed() const {
  Exchange result = *this;
  const auto hosts = static_cast<HostId>(_bytes.size());
  for (HostId from = 0; from < hosts; ++from)
    for (HostId to = 0; to < hosts; ++to)
      result._bytes(to, from) = _bytes(from, to);
  return result;
}

/// For each element, contributions of each host go to the element's owner. A message with
/// contributions is as long as the element, however many are combined in it. So each host alone has
/// to send as much as in a scatter, and each part of a partition of the hosts has to send the
/// blocks of all other parts. (With time running backwards this is an allgather, which copies
/// instead of combining.)
void add_reduce_scatter(View& view, const std::vector<double>& bytes, Largest& largest) {
  const Reach& reach = view.reach;
  const double total = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  Set heard(bytes.size());
  for (std::size_t host = 0; host < bytes.size(); ++host)
    heard[host] = bytes[host] > 0 ? 1 : 0;
  for (HostId from = 0; from < reach.size(); ++from) {
    const Distances distances = about_from(reach, from);
    std::vector<double> sent = bytes;
    sent[index(from)] = 0;
    add_sent(reach, from, sent, distances, largest);
  }
  if (!reach.is_small())
    add_latencies(
        reach, Set(bytes.size(), 1), [&](HostId, HostId to) { return heard[index(to)] != 0; },
        largest);
  add_traffic(reach, static_cast<double>(reach.size() - 1) * total, largest);
  for (HostId from = 0; from < reach.size() && reach.send > 0;
       from += 1 + reach.size() / (reach.is_small() ? 16 : 1))
    add_postal(view, from, reach.distances_from(from), heard, largest);
  if (!view.cuts)
    return add_sets(
        view, [&](const Set& set) { return beyond(bytes, set); }, largest);
  for (HostId from = 0; from < reach.size(); ++from) {
    Demand demand{from, bytes, reach.path(from, "all hosts")};
    demand.bytes[index(from)] = 0;
    largest.add_cuts(*view.cuts, demand);
  }
}

/// Each part of a partition sends (with time running backwards, receives) the blocks of all other
/// parts, and some part receives what is sent: all blocks (parts - 1) times.
void add_all_parts(View& view, const std::vector<double>& bytes, Largest& largest) {
  const double total = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  const Distances now(bytes.size(), 0);
  for (const Groups::Partition& partition : view.groups.partitions())
    largest.add_windows(partition.name, static_cast<double>(partition.parts.size() - 1) * total,
                        view.groups.leaving(partition, now));
  Set sources(bytes.size());
  for (std::size_t host = 0; host < bytes.size(); ++host)
    sources[host] = bytes[host] > 0 ? 1 : 0;
  add_postal_of_all(view, sources, largest);
  add_covers(
      view, [&](const Set& set) { return within(bytes, set); }, false, largest);
}

/// What a host sends is its own, and what goes from a set of hosts to the others leaves the set.
void add_alltoall(View& view, const Exchange& exchange, Largest& largest) {
  const Reach& reach = view.reach;
  double total = 0;
  Set sources(index(reach.size()));
  for (HostId from = 0; from < reach.size(); ++from) {
    const Distances distances = about_from(reach, from);
    std::vector<double> sent(index(reach.size()));
    Set heard(sent.size());
    for (HostId to = 0; to < reach.size(); ++to) {
      sent[index(to)] = from == to ? 0 : exchange(from, to);
      heard[index(to)] = sent[index(to)] > 0 ? 1 : 0;
      total += sent[index(to)];
      if (sent[index(to)] > 0) sources[index(from)] = 1;
    }
    add_sent(reach, from, sent, distances, largest);
    if (reach.is_small() || from == 0)
      add_postal(view, from, reach.is_small() ? distances : reach.distances_from(from), heard,
                 largest);
  }
  if (!reach.is_small())
    add_latencies(
        reach, sources, [&](HostId from, HostId to) { return exchange(from, to) > 0; }, largest);
  add_sets(
      view, [&](const Set& set) { return exchange.crossing(set); }, largest);
  add_traffic(reach, total, largest);
}

} // namespace thalweg::bounds
