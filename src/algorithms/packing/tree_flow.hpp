#pragma once

#include "algorithms/algorithm.hpp"

namespace thalweg::algorithms {

/// Emits the transfers along one of a skeleton's trees, which carries the part of the data, or of
/// each block, that has the tree's number. Skeleton::delays has an entry for each rank's link to
/// its parent, tree by tree; a root's entry is the steps between the upward and the downward flow.
class TreeFlow {
public:
  using Step = schedule::Step;
  /// @param begin step at which the flow begins
  /// @param only the rank whose transfers are wanted, or no_rank for all
  TreeFlow(collective::Kind kind, const Skeleton& skeleton, std::size_t tree, Step begin, Rank only,
           Sink& sink);
  /// Adds the transfers of a bcast, reduce, allreduce, allgather or reduce_scatter, in any order.
  void emit();
  /// Returns the number of the root's children.
  [[nodiscard]] Step root_children() const;

private:
  void order_children();
  void time();
  void number();
  [[nodiscard]] Step up_step(Rank child) const;
  [[nodiscard]] Step down_step(Rank child) const;
  [[nodiscard]] bool is_below(Rank rank, Rank top) const;
  [[nodiscard]] bool concerns(Rank child) const;
  void reduce_from(Rank parent);
  void collect_outside(Rank parent);
  void distribute_below(Rank child);
  void gather(Rank child);
  void spread(Rank child);
  void hand_down(Rank child);

  /// The lowest rank among the contributions that a rank holds to a block: `lowest`, except for
  /// blocks below the child `bringer`, which brought `lowest` but contributes nothing to blocks
  /// below itself: there `second`.
  struct Present {
    Rank lowest, second, bringer = collective::no_rank;
    void add(Rank brought, Rank child);
  };
  void add_blocks(Rank from, Rank to, Step step, Rank incoming, const Present& present,
                  const std::vector<Rank>& blocks);
  void send_blocks(Rank from, Rank to, Step step, schedule::How how,
                   const std::vector<Rank>& blocks);
  [[nodiscard]] std::vector<Rank> below(Rank top) const;
  [[nodiscard]] std::vector<Rank> outside(Rank top) const;
  /// Returns a rank's children in the order in which their parts arrive.
  [[nodiscard]] std::vector<Rank> as_they_arrive(Rank parent) const;

  collective::Kind _kind;
  const Skeleton& _skeleton;
  std::size_t _tree;
  Step _begin;
  Rank _only;
  Sink& _sink;
  const std::vector<Rank>& _parents;
  std::vector<std::vector<Rank>> _children; ///< by rank, those with the most below them first
  std::vector<Rank> _order;                 ///< each after its parent, a subtree contiguous
  std::vector<Step> _sent, _arrived;        ///< by rank: when its parent sends down to it
  std::vector<Rank> _lowest;                ///< by rank: of its subtree
  std::vector<Rank> _place, _count;         ///< by rank: its subtree in _order
  Step _depth = 0;
  Step _gap = 0; ///< steps between the upward and the downward flow
};

} // namespace thalweg::algorithms
