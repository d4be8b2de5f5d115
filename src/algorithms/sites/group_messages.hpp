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
  GroupMessages(collective::Kind kind, const Skeleton& skeleton, Rank only, schedule::Sink& sink)
      : GroupOwners(kind, skeleton), _only(only), _sink(sink) {}

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

  Rank _only;
  schedule::Sink& _sink;
};

} // namespace thalweg::algorithms
