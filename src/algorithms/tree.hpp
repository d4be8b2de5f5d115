#pragma once

#include "algorithms/algorithm.hpp"

namespace thalweg::algorithms {

using schedule::Step;

/// Joins all of `group` to a tree of which its first rank is part already, binomially: in each
/// round all that are in send to one that isn't. The subtree of a rank is a stretch of `group`.
void join_binomially(std::span<const Rank> group, std::vector<Rank>& order,
                     std::vector<Rank>& parents);

/// An algorithm whose data flows along one tree: bcast down it, reduce up it, allreduce up and down
/// again. A node serves its children one after the other, in the order in which they joined.
class TreeAlgorithm : public Algorithm {
public:
  [[nodiscard]] bool supports(collective::Kind kind) const final {
    using enum collective::Kind;
    return kind == bcast || kind == reduce || kind == allreduce;
  }
  void emit(collective::Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const final;

protected:
  /// @param order the ranks as they join the tree, root first
  /// @param parents of the tree: rank -> parent
  /// @param period steps between segments: children per inner node
  [[nodiscard]] Skeleton tree(const Problem& problem, const Parameters& parameters,
                              std::vector<Rank> order, std::vector<Rank> parents,
                              Step period) const;
  /// Steps between segments: the most children that a rank has, at least 1.
  [[nodiscard]] static Step most_children(const std::vector<Rank>& parents);
  /// The root that the collective has, or for allreduce the rank nearest to all.
  [[nodiscard]] static Rank natural_root(const Problem& problem);
};

} // namespace thalweg::algorithms
