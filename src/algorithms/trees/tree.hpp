#pragma once

#include "algorithms/algorithm.hpp"

#include <functional>

namespace thalweg::algorithms {

using schedule::Step;

/// Joins all of `group` to a tree that already contains its first rank, as a k-nomial tree: in each
/// round every member sends to `degree` - 1 ranks outside, at least 1. The subtree of a rank is a
/// contiguous part of `group`.
void join_knomially(std::span<const Rank> group, std::int32_t degree, std::vector<Rank>& order,
                    std::vector<Rank>& parents);
/// Does the same for degree 2.
void join_binomially(std::span<const Rank> group, std::vector<Rank>& order,
                     std::vector<Rank>& parents);

/// Whether a collective's data goes from the root of a tree to its leaves.
[[nodiscard]] constexpr bool flows_down(collective::Kind kind) {
  return kind != collective::Kind::reduce && kind != collective::Kind::gather;
}
/// Whether it goes from the leaves to the root.
[[nodiscard]] constexpr bool flows_up(collective::Kind kind) {
  return !collective::begins_at_root(kind);
}

/// Joins all of `group` to a tree that already contains its first rank: each rank serves `degree`
/// others, at least 1, whose subtrees differ by at most one rank and are contiguous parts of
/// `group`.
void join_evenly(std::span<const Rank> group, std::int32_t degree, std::vector<Rank>& order,
                 std::vector<Rank>& parents);

/// Returns the largest number of children of a rank, at least 1: the steps between segments in
/// which every rank has sent to each of its children.
[[nodiscard]] Step most_children(const std::vector<Rank>& parents);

/// Whether one tree can carry out a collective.
[[nodiscard]] constexpr bool trees_carry(collective::Kind kind) {
  using enum collective::Kind;
  switch (kind) {
  case bcast:
  case reduce:
  case allreduce:
  case gather:
  case scatter:
  case allgather:
  case reduce_scatter:
  case barrier:
    return true;
  case alltoall:
  case scan:
  case exscan:
    return false;
  }
  return false;
}

/// An algorithm whose data flows along one tree: down for bcast and scatter, up for reduce and
/// gather, up and down again for the other collectives. In a gather or scatter a link carries the
/// blocks of the subtree below it in one message. An allgather is a gather and a bcast of what a
/// subtree doesn't have, a reduce_scatter a reduce and a scatter, an allreduce or barrier a reduce
/// and a bcast. A node serves its children one after the other, in the order in which they joined;
/// in a collective of blocks the ones with the largest subtrees come first.
class TreeAlgorithm : public Algorithm {
public:
  [[nodiscard]] bool supports(collective::Kind kind) const override { return trees_carry(kind); }
  [[nodiscard]] bool takes_any_tree() const final { return true; }
  void check(const Skeleton& skeleton) const final;
  void emit(collective::Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const final;

protected:
  /// Returns candidates for a tree that gains by segments: the sizes worth trying, and one without
  /// segments. If the root passes on all blocks, which pays for short ones only, there is only the
  /// latter.
  [[nodiscard]] static std::vector<Parameters> segments(const Problem& problem);
  /// @param order the ranks as they join the tree, root first
  /// @param parents rank -> parent
  /// @param period steps between segments; 0: most_children()
  [[nodiscard]] Skeleton tree(const Problem& problem, const Parameters& parameters,
                              std::vector<Rank> order, std::vector<Rank> parents,
                              Step period = 0) const;
  /// Joins a group to a tree that already contains its first rank.
  using Join = std::function<void(std::span<const Rank> group, std::vector<Rank>& order,
                                  std::vector<Rank>& parents)>;
  /// Returns the tree that `join` makes of all ranks, in the order that the parameters ask for.
  [[nodiscard]] Skeleton joined_tree(const Problem& problem, const Parameters& parameters,
                                     const Join& join) const;
  /// Returns the collective's root or, if it has none, the rank nearest to all others; in rank
  /// order rank 0.
  [[nodiscard]] static Rank natural_root(const Problem& problem, const Parameters& parameters = {});
};

} // namespace thalweg::algorithms
