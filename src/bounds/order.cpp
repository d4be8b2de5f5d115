/// Bounds of scan and exscan.
#include "bounds/view.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace thalweg::bounds {
namespace {

/// The lowest and highest ranks of each host.
struct Extents {
  explicit Extents(const Reach& reach)
      : lowest(index(reach.size()), std::numeric_limits<std::int32_t>::max()),
        highest(lowest.size(), -1) {
    for (std::size_t rank = 0; rank < reach.host_of_rank.size(); ++rank) {
      const std::size_t host = index(reach.host_of_rank[rank]);
      lowest[host] = std::min(lowest[host], static_cast<std::int32_t>(rank));
      highest[host] = std::max(highest[host], static_cast<std::int32_t>(rank));
    }
    // With time running backwards the later ranks contribute.
    if (!reach.is_transposed) return;
    for (std::size_t host = 0; host < lowest.size(); ++host)
      lowest[host] = -std::exchange(highest[host], -lowest[host]);
  }
  /// Whether a rank of `to` contains a contribution of a rank of `from`.
  [[nodiscard]] bool feeds(HostId from, HostId to) const {
    return lowest[index(from)] < highest[index(to)];
  }
  /// Returns the size of the largest set of hosts that all feed each other.
  [[nodiscard]] std::size_t mutual() const {
    std::size_t most = 0;
    for (const std::int32_t at : lowest)
      most = std::max(most, static_cast<std::size_t>(
                                std::ranges::count_if(lowest, [&](const std::int32_t& other) {
                                  const auto host = static_cast<std::size_t>(&other - &lowest[0]);
                                  return lowest[host] <= at && at < highest[host];
                                })));
    return most;
  }

  std::vector<std::int32_t> lowest, highest;
};

/// Returns how many results must go from a set of hosts to the others for each element: as many as
/// there are ranks in the set which are followed by one outside.
///
/// Proof: let the ranks in their order be A1 B1 A2 B2 ... Ak Bk, where the Ai are ranks of the set,
/// which may precede the first B only, and the Bi are ranks outside. The first rank of Bi has to
/// know the sum of A1 B1 ... Ai. The others know all of the Bj, so with an operation that has an
/// inverse, such as the sum, they can compute each of A1 ... Ak from these results: k values that
/// are independent of each other and of all that is known outside. An element that crosses carries
/// one value, so k of them must.
std::int32_t prefixes(const Reach& reach, const Set& set) {
  std::int32_t count = 0;
  for (std::size_t rank = 0; rank + 1 < reach.host_of_rank.size(); ++rank) {
    const char earlier = set[index(reach.host_of_rank[rank])];
    const char later = set[index(reach.host_of_rank[rank + 1])];
    // With time running backwards the later ranks contribute.
    count += reach.is_transposed ? later != 0 && earlier == 0 : earlier != 0 && later == 0;
  }
  return count;
}

/// Adds what single hosts have to send.
void add_hosts(const Reach& reach, double bytes, Largest& largest) {
  std::vector<std::int32_t> count(index(reach.size()), 0);
  for (std::size_t rank = 0; rank + 1 < reach.host_of_rank.size(); ++rank) {
    const HostId earlier = reach.host_of_rank[rank], later = reach.host_of_rank[rank + 1];
    if (earlier != later) ++count[index(reach.is_transposed ? later : earlier)];
  }
  for (HostId host = 0; host < reach.size(); ++host)
    if (count[index(host)] > 0)
      largest.add_windows(reach.egress_of(reach.names[index(host)]), count[index(host)] * bytes,
                          {{reach.rate_out(host), reach.nearest_out[index(host)]}});
}

/// Returns pairs of hosts such that every cut which a contribution has to cross separates one: the
/// first rank's host and any other, and the hosts of consecutive ranks. If a host outside of a set
/// contains contributions of the set, the set holds the first rank, or the lower one of two
/// consecutive ranks of which the other is outside.
std::set<std::pair<HostId, HostId>> pairs_to_part(const Reach& reach) {
  const std::size_t most = 3 * index(reach.size());
  std::set<std::pair<HostId, HostId>> pairs;
  const auto& host = reach.host_of_rank;
  const std::size_t last = host.size() - 1;
  const auto at = [&](std::size_t rank) { return host[reach.is_transposed ? last - rank : rank]; };
  for (HostId to = 0; to < reach.size(); ++to)
    if (to != at(0)) pairs.emplace(at(0), to);
  for (std::size_t rank = 0; rank < last && pairs.size() < most; ++rank)
    if (at(rank) != at(rank + 1)) pairs.emplace(at(rank), at(rank + 1));
  return pairs;
}

} // namespace

/// Contributions go from each rank to all later ones, so all of the data leaves each set of hosts
/// with a rank before one of the others. Each host but the first rank's receives it. Hosts that
/// each have a rank between other hosts' ranks all hear from each other, as in an allreduce.
/// Several results cross a cut that several ranks precede at the other side (prefixes()).
void add_scan(View& view, double bytes, Largest& largest) {
  const Reach& reach = view.reach;
  const Extents extents(reach);
  for (HostId from = 0; from < reach.size() && reach.is_small(); ++from)
    for (HostId to = 0; to < reach.size(); ++to)
      if (from != to && extents.feeds(from, to))
        largest.add_path(reach, from, to, bytes, reach.distance(from, to));

  const HostId first = reach.is_transposed ? reach.host_of_rank.back() : reach.host_of_rank.front();
  const Distances from_first = reach.distances_from(first);
  for (HostId to = 0; to < reach.size(); ++to)
    if (to != first) largest.add_path(reach, first, to, bytes, from_first[index(to)]);

  const Distances now(index(reach.size()), 0);
  const std::size_t mutual = extents.mutual();
  const std::size_t messages = std::max(index(reach.size()) - 1, mutual > 0 ? 2 * (mutual - 1) : 0);
  // Parts of several hosts might not hold the first rank, or be heard by no other part.
  largest.add_windows(view.groups.partitions().front().name, static_cast<double>(messages) * bytes,
                      view.groups.leaving(view.groups.partitions().front(), now));
  add_traffic(reach, static_cast<double>(messages) * bytes, largest);
  add_postal(view, first, from_first, Set(index(reach.size()), 1), largest);
  add_hosts(reach, bytes, largest);
  add_sets(
      view, [&](const Set& set) { return prefixes(reach, set) * bytes; }, largest);
  if (!view.cuts) return;
  for (const auto& [from, to] : pairs_to_part(reach))
    largest.add_cuts(*view.cuts, from, to, bytes);
}

} // namespace thalweg::bounds
