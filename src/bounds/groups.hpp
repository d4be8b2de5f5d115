#pragma once

#include "bounds/crossings.hpp"
#include "bounds/reach.hpp"
#include "bounds/windows.hpp"
#include "optimization/max_flow.hpp"

#include <set>
#include <string>
#include <vector>

namespace thalweg::bounds {

using optimization::MaxFlow;

/// A set of hosts: whether it has each of them.
using Set = std::vector<char>;

/// Groups of hosts that sites and trunks suggest, and the capacity between them, for any number of
/// hosts.
class Groups {
public:
  explicit Groups(const Reach& reach);

  /// Returns the sites or, if they aren't known, the groups of hosts that belong to the same
  /// trunks.
  [[nodiscard]] const std::vector<std::vector<HostId>>& base() const { return _base; }
  /// Returns sets with their complements, neither empty nor all hosts.
  [[nodiscard]] const std::vector<Set>& sets() const { return _sets; }
  /// The capacity from a set of hosts to the others.
  struct Exit {
    double rate;      ///< bytes per second; infinite if unlimited
    std::string name; ///< "trunk up, host0 and 7 more -> 8 hosts"
  };
  /// Returns an upper limit of the capacity: that of the hosts' ports, of each host's pairs across
  /// together, and of the trunks, of which a pair that crosses several counts only one: the least
  /// over several choices. Cost: O(hosts²), and a maximum flow for each choice on the classes of
  /// hosts that belong to the same trunks.
  [[nodiscard]] Exit exit(const Set& set);

  /// All hosts in at least two disjoint parts.
  struct Partition {
    std::string name;
    std::vector<std::vector<HostId>> parts;
  };
  [[nodiscard]] const std::vector<Partition>& partitions() const { return _partitions; }
  /// Returns the capacity of data leaving the parts, all together. Data leaves a part no earlier
  /// than `opens` of one of its hosts, and no later than the least latency from one of them before
  /// the end.
  [[nodiscard]] std::vector<Window> leaving(const Partition& partition, const Distances& opens);
  /// Returns the least latency from a host of the set to one that isn't in it; with many hosts, a
  /// lower limit. O(hosts²).
  [[nodiscard]] double nearest_outside(const Set& set) const;

private:
  using ClassId = std::int32_t;
  [[nodiscard]] std::string name(const Set& set) const;
  [[nodiscard]] Set set_of(const std::vector<HostId>& hosts) const;
  void find_slowest_pairs();
  void find_classes();
  /// An upper limit of what flows between sets of hosts.
  struct Graph {
    MaxFlow flow;
    std::vector<double> capacities;   ///< by arc; the classes' outgoing and incoming arcs first
    std::vector<std::int32_t> trunks; ///< of the arcs that follow
  };
  void add_graph(const Crossings& crossings, std::vector<Hub> hubs);
  void add_graphs();
  [[nodiscard]] Exit exit(Graph& graph, const Set& set, const std::vector<double>& rates) const;
  /// Returns by host of the set the most bytes per second from it to the other hosts, by any other
  /// host from the set to it: all that goes across does so by one of the pairs, so no more does by
  /// a host than its pairs across carry together, nor than its port. O(hosts²), or O(hosts) if
  /// ports are narrow.
  [[nodiscard]] std::vector<double> rates_across(const Set& set) const;
  /// Returns what a host's pairs with the hosts on the other side of the set carry together.
  [[nodiscard]] double pairs_across(HostId host, const Set& set) const;
  void find_sets();
  /// Adds the halves that slow pairs separate: those of the slowest edges of a spanning tree of the
  /// fastest pairs. O(hosts²).
  void add_halves();
  void find_partitions();
  void add_set(const Set& set);
  /// Adds a partition: each host of the set alone, the others as in `others` or, if that is empty,
  /// together.
  void add_partition(const Set& alone, const std::vector<std::vector<HostId>>& others);
  void add_slow_hosts();

  const Reach& _reach;
  std::vector<ClassId> _class_of;
  std::vector<Carrier> _carriers; ///< by trunk: between classes
  ClassId _classes = 0;
  std::vector<double> _out, _in;                 ///< rates by host
  std::vector<double> _slowest_out, _slowest_in; ///< rates of each host's slowest pair, by host
  std::vector<Graph> _graphs;
  std::vector<std::vector<HostId>> _base;
  std::vector<Set> _sets;
  std::set<Set> _known_sets;
  std::vector<Partition> _partitions;
};

} // namespace thalweg::bounds
