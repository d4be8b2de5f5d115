#pragma once

#include "bounds/reach.hpp"
#include "bounds/windows.hpp"
#include "optimization/max_flow.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace thalweg::bounds {

using optimization::MaxFlow;

/// A set of hosts: whether it has each of them.
using Set = std::vector<char>;

/// Groups of hosts that sites and trunks suggest, and what can pass between them, however many
/// hosts there are.
class Groups {
public:
  explicit Groups(const Reach& reach);

  /// Sites, or if they aren't known hosts that belong to the same trunks.
  [[nodiscard]] const std::vector<std::vector<HostId>>& base() const { return _base; }
  /// Neither empty nor all hosts; with each its complement.
  [[nodiscard]] const std::vector<Set>& sets() const { return _sets; }
  /// The way from a set of hosts to the others.
  struct Exit {
    double rate;      ///< bytes per second; infinite if nothing limits them
    std::string name; ///< "trunk up, host0 and 7 more -> 8 hosts"
  };
  /// Exact but for pairs that cross several trunks, of which the narrowest counts. Cost: a maximum
  /// flow on the classes of hosts that belong to the same trunks.
  [[nodiscard]] Exit exit(const Set& set);

  /// All hosts in disjoint parts, at least two.
  struct Partition {
    std::string name;
    std::vector<std::vector<HostId>> parts;
  };
  [[nodiscard]] const std::vector<Partition>& partitions() const { return _partitions; }
  /// What can leave the parts, all together. What leaves a part does so no earlier than `opens` of
  /// one of its hosts, and is away no later than the least latency from one of them before the end.
  [[nodiscard]] std::vector<Window> leaving(const Partition& partition, const Distances& opens);

private:
  using ClassId = std::int32_t;
  [[nodiscard]] std::string name(const Set& set) const;
  [[nodiscard]] Set set_of(const std::vector<HostId>& hosts) const;
  void find_classes();
  void make_graph();
  void find_sets();
  void find_partitions();
  void add_set(const Set& set);
  /// Each host of the set alone, the others as they are in `others` or, if that is empty, together.
  void add_partition(const Set& alone, const std::vector<std::vector<HostId>>& others);
  void add_slow_hosts();

  const Reach& _reach;
  std::vector<ClassId> _class_of;
  std::vector<std::vector<char>> _sends_to, _receives_from; ///< by trunk, then by class
  ClassId _classes = 0;
  std::vector<double> _out, _in; ///< rates by host
  MaxFlow _flow{2};
  std::vector<double> _capacities; ///< by arc; first those of the classes, out and in
  std::vector<std::vector<HostId>> _base;
  std::vector<Set> _sets;
  std::set<Set> _known_sets;
  std::vector<Partition> _partitions;
};

} // namespace thalweg::bounds
