#pragma once

#include "bounds/cut.hpp"
#include "bounds/groups.hpp"
#include "bounds/largest.hpp"

#include <functional>
#include <optional>

namespace thalweg::bounds {

/// The network forwards or backwards in time, prepared for finding bounds.
struct View {
  explicit View(const Reach& of) : reach(of), groups(of) {
    if (of.is_small()) cuts.emplace(of);
  }
  const Reach& reach;
  Groups groups;
  std::optional<Cuts> cuts; ///< none if there are many hosts
};

/// Every host gets all of the root's data.
void add_bcast(View& view, HostId root, double bytes, Largest& largest);
/// Every host gets bytes of its own from the root. @param bytes by host
void add_scatter(View& view, HostId root, const std::vector<double>& bytes, Largest& largest);
/// Every host gets bytes of its own, to which all others contribute equally.
void add_reduce_scatter(View& view, const std::vector<double>& bytes, Largest& largest);
/// The same collective, bounded by what all hosts together have to carry instead of host by host.
void add_all_parts(View& view, const std::vector<double>& bytes, Largest& largest);

/// The bytes that hosts have for each other.
class Exchange {
public:
  /// @param each bytes from each rank to each other rank
  Exchange(std::vector<std::int64_t> ranks, double each) : _ranks(std::move(ranks)), _each(each) {}
  /// @param bytes from host to host
  Exchange(std::vector<std::int64_t> ranks, network::Matrix<double> bytes)
      : _ranks(std::move(ranks)), _bytes(std::move(bytes)) {}
  double operator()(HostId from, HostId to) const {
    if (_each < 0) return _bytes(from, to);
    return _each * static_cast<double>(_ranks[static_cast<std::size_t>(from)] *
                                       _ranks[static_cast<std::size_t>(to)]);
  }
  /// Returns the bytes from the hosts of a set to the others.
  [[nodiscard]] double crossing(const Set& set) const;
  [[nodiscard]] Exchange transposed() const;

private:
  std::vector<std::int64_t> _ranks;
  network::Matrix<double> _bytes;
  double _each = -1; ///< negative: use `_bytes`
};

/// Every host gets bytes of its own from every other.
void add_alltoall(View& view, const Exchange& exchange, Largest& largest);
/// Every host gets a result to which all contribute.
void add_allreduce(View& view, double bytes, Largest& largest);
/// Every host gets results to which the ranks before its own ones contribute.
void add_scan(View& view, double bytes, Largest& largest);
/// Every host must hear from every other.
void add_barrier(View& view, Largest& largest);

/// Something goes from each host to every other: adds the longest of the shortest paths or, with
/// many hosts, a long one.
void add_latencies(const Reach& reach, Largest& largest);
/// Something goes from each source to the hosts that `hears` names: adds the shortest paths of
/// several of the sources. O(hosts²) for each. @param hears by source and host
void add_latencies(const Reach& reach, const Set& sources,
                   const std::function<bool(HostId, HostId)>& hears, Largest& largest);
/// Every host in `heard` must hear from the source. @param distances from the source
void add_postal(const View& view, HostId source, const Distances& distances, const Set& heard,
                Largest& largest);
/// Adds the postal bound of several of the sources; all hosts must hear from each.
void add_postal_of_all(const View& view, const Set& sources, Largest& largest);
/// Adds bounds from the sets of hosts that sites and trunks suggest. @param leaves the bytes that
/// must go from a set to the other hosts
void add_sets(View& view, const std::function<double(const Set&)>& leaves, Largest& largest);
/// Adds bounds from the paths of what leaves each host, and each set of hosts that sites and trunks
/// suggest, before and after it does: nothing with more than most_for_all_pairs hosts, else
/// O(hosts² log hosts) for each. @param leaves the bytes that must go from a set to each other host
/// @param combines whether all hosts of the set contribute to each of them, or only one does
void add_covers(View& view, const std::function<double(const Set&)>& leaves, bool combines,
                Largest& largest);
/// Returns the bytes of the hosts in a set.
double within(const std::vector<double>& bytes, const Set& set);
/// Returns the bytes of the hosts outside a set.
double beyond(const std::vector<double>& bytes, const Set& set);
/// Adds the time that the hosts' CPUs together need to send and receive `bytes` of messages.
void add_traffic(const Reach& reach, double bytes, Largest& largest);

} // namespace thalweg::bounds
