#pragma once

#include "algorithms/algorithm.hpp"

#include <vector>

namespace thalweg::algorithms {

/// The hosts in use as a minimum spanning tree of latencies, which shows how they group: without
/// the longest `count` - 1 links `count` groups are left, each of hosts close to each other. Hosts
/// on different sides of a trunk count as twice as far apart.
class Dendrogram {
public:
  /// O(hosts²).
  explicit Dendrogram(const Problem& problem);

  [[nodiscard]] std::size_t hosts() const { return _hosts.size(); }
  /// Returns the ranks by group, of at most as many groups as there are hosts. Groups ascend by
  /// their lowest rank, and the ranks of a group ascend.
  [[nodiscard]] std::vector<std::vector<Rank>> cut(std::size_t count) const;
  /// Returns the numbers of groups, at least 2, for which groups are at least twice as far from
  /// each other as the parts of each, the most distinct first. A group per host isn't among them.
  [[nodiscard]] std::vector<std::size_t> natural_counts() const;

private:
  struct Link {
    std::size_t a, b; ///< in _hosts
    double distance;  ///< seconds
  };
  std::vector<std::vector<Rank>> _hosts; ///< the ranks of each host in use
  std::vector<Link> _links;              ///< the longest first
};

/// Returns the dendrogram of the problem's network and placement; kept in its cache if it has one.
Dendrogram dendrogram(const Problem& problem);

/// Puts the ranks of a group first that should exchange data with other groups: the collective's
/// root, then those with fast ports, one of each host before the second ones. Returns how many have
/// fast ports.
Rank sort_by_suitability(const Problem& problem, std::vector<Rank>& group);

} // namespace thalweg::algorithms
