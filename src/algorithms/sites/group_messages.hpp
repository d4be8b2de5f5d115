#pragma once

#include "algorithms/sites/owners.hpp"

namespace thalweg::algorithms {

/// The most numbers of groups that are tried, of those that the network suggests.
inline constexpr std::size_t most_group_counts = 2;
/// The most eager messages whose data is also tried without segments.
inline constexpr Size longest_whole = 8;

/// Emits what members and owners of groups send each other: the transfers of one rank, or of all.
class GroupMessages : public GroupOwners {
public:
  /// @param skeleton must live longer than this @param only or no_rank: all
  GroupMessages(collective::Kind kind, const Skeleton& skeleton, Rank only, schedule::Sink& sink);

protected:
  [[nodiscard]] Rank only() const { return _only; }
  /// Sends chunks unless there are none, they stay where they are, or neither rank is wanted.
  void send(Rank from, Rank to, schedule::Step step, schedule::How how, const Chunks& chunks,
            schedule::Reg dst = 0);
  /// Combines chunks of register 1 of a rank into its register 0.
  void combine_left(Rank rank, schedule::Step step, const Chunks& chunks);
  /// Each owner of a group sends each of another what both own.
  void cross(std::size_t from, std::size_t to, schedule::Step step, schedule::How how,
             schedule::Reg dst = 0);
  /// Members of all groups send their groups' owners their contributions.
  void collect(schedule::Step step);
  /// Owners send the members of their group what they own. @param without a member that needs
  /// nothing, or no_rank
  void spread(std::size_t group, schedule::Step step, Rank without = collective::no_rank);

private:
  [[nodiscard]] bool wants(Rank from, Rank to) const {
    return _only == collective::no_rank || _only == from || _only == to;
  }

  /// The first members of a group.
  struct Members {
    std::size_t group;
    Rank count;
  };
  /// Visits the pairs of members of which one is wanted; of a single rank, without a look at the
  /// others.
  template <class Visit>
  void for_wanted(Members ones, Members others, const Visit& visit) const {
    const bool all = _only == collective::no_rank;
    const Rank one = ones.group == _group ? _member : -1;
    const Rank other = others.group == _group ? _member : -1;
    if (!all && one < 0 && other < 0) return;
    for (Rank each = 0; each < ones.count; ++each)
      if (all || each == one)
        for (Rank partner = 0; partner < others.count; ++partner)
          visit(each, partner);
      else if (other >= 0 && other < others.count)
        visit(each, other);
  }

  Rank _only;
  std::size_t _group = 0; ///< of the only rank
  Rank _member = -1;      ///< its number there; -1: in none
  schedule::Sink& _sink;
};

} // namespace thalweg::algorithms
