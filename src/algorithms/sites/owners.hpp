#pragma once

#include "algorithms/algorithm.hpp"

#include <vector>

namespace thalweg::algorithms {

/// Groups of ranks of which some members own shares of the data, as a skeleton's `order`,
/// `site_begins`, `senders` and `weights` say. The parts of a vector are dealt out differently in
/// each group, so that any two owners of different groups share about as many parts; or, if they
/// have weights, so that two owners have about the same share, or nothing in common.
class GroupOwners {
public:
  using Chunks = std::vector<ChunkId>;

  /// @param skeleton must live longer than this
  GroupOwners(collective::Kind kind, const Skeleton& skeleton);

  [[nodiscard]] const Skeleton& skeleton() const { return _skeleton; }
  /// Returns how many parts the vector, or a block, has.
  [[nodiscard]] Rank parts() const { return _parts; }
  [[nodiscard]] std::size_t groups() const { return _skeleton.site_begins.size(); }
  [[nodiscard]] Rank members(std::size_t group) const;
  [[nodiscard]] Rank rank(std::size_t group, Rank member) const;
  [[nodiscard]] Rank lowest(std::size_t group) const { return _lowest[group]; }
  /// Returns the group's place, from 0 on, in the order of the lowest ranks.
  [[nodiscard]] schedule::Step place(std::size_t group) const { return _place[group]; }
  /// Returns by how many steps the results are spread in a group later than without a gap.
  [[nodiscard]] schedule::Step gap() const {
    return _skeleton.delays.empty() ? 0 : _skeleton.delays.front();
  }
  /// Returns how many members own data, the first ones.
  [[nodiscard]] Rank owners(std::size_t group) const;
  [[nodiscard]] Rank owner_of(std::size_t group, Rank part) const;
  /// Returns the parts of the vector that an owner has.
  [[nodiscard]] const Chunks& owned(std::size_t group, Rank owner) const {
    return _owned[group][static_cast<std::size_t>(owner)];
  }
  /// Returns the parts of the vector that two owners of different groups have.
  [[nodiscard]] Chunks shared(std::size_t a, Rank owner_a, std::size_t b, Rank owner_b) const;
  /// Returns how a member's contribution is combined at another, those from lower ranks first.
  [[nodiscard]] schedule::How combine_within(std::size_t group, Rank from) const {
    return from == _lowest[group] ? schedule::How::combine_left : schedule::How::combine_right;
  }

private:
  void deal_out();

  const Skeleton& _skeleton;
  Rank _parts;
  std::vector<Rank> _strides;              ///< by group: the adjacent parts of one owner
  std::vector<std::int64_t> _begins = {0}; ///< of weighted parts; and the end
  std::vector<Rank> _lowest;               ///< by group
  std::vector<schedule::Step> _place;
  std::vector<std::vector<Chunks>> _owned; ///< by group, then owner
};

/// Adds groups to a skeleton, their owners first: at most `most_owners` of each (0: any number),
/// none of which has a slow port if others don't. In large groups, and where hosts have several
/// ranks, any of these; else data takes the shortest path from any rank through the owners of its
/// share in two groups to any other: owners are in the middle of their groups, and those near each
/// other have the same share. O(ranks³).
void add_groups(const Problem& problem, Rank most_owners, std::vector<std::vector<Rank>>& groups,
                Skeleton& skeleton);

/// Returns the weights of the pieces of a vector between which the shares of each group's owners
/// end.
std::vector<std::int32_t> weights_of_shares(const std::vector<Rank>& owners);

/// Returns GroupOwners::gap(): the segments that a rank can send, by its port and its flows to the
/// other groups, while data crosses between groups `times` times; none if nothing limits them. A
/// rank's messages to another go in the order of their steps, so without a gap the contributions to
/// later segments would wait for the results of the first one.
schedule::Step gap_of_crossing(const Problem& problem, const std::vector<std::vector<Rank>>& groups,
                               const Skeleton& skeleton, double times);

/// Checks that a skeleton's order and groups are whole.
void check_groups(const Skeleton& skeleton);

} // namespace thalweg::algorithms
