#pragma once

#include "algorithms/trees/rank_hierarchy.hpp"
#include "algorithms/trees/tree.hpp"

namespace thalweg::algorithms {

/// An algorithm whose tree combines trees of several network levels, the widest first: in each
/// group of a level the leaders of its parts, which are groups of lower levels, are joined. The
/// root leads its groups; other groups are led by their lowest rank. The groups are those of the
/// hierarchy of latencies, and those that the network declares.
class MultilevelAlgorithm : public TreeAlgorithm {
public:
  [[nodiscard]] Skeleton build(const Problem& problem, const Parameters& parameters) const final;
  [[nodiscard]] bool builds_quickly(Rank ranks) const final {
    return ranks <= most_quick_hierarchy;
  }

protected:
  /// Returns the level of a network class; classes of equal levels aren't distinguished.
  [[nodiscard]] virtual int level(network::NetworkClass network_class) const = 0;
  /// Joins a group's leaders to the tree, which already contains the first: each below that one
  /// over a WAN, else along a binomial tree.
  virtual void join(const Problem& problem, network::NetworkClass network_class,
                    std::span<const Rank> leaders, std::vector<Rank>& order,
                    std::vector<Rank>& parents) const;
};

} // namespace thalweg::algorithms
