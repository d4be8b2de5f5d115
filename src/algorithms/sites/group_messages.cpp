#include "algorithms/sites/group_messages.hpp"

#include "algorithms/ranges.hpp"

namespace thalweg::algorithms {

using schedule::How;
using schedule::Step;

GroupMessages::GroupMessages(collective::Kind kind, const Skeleton& skeleton, Rank only,
                             schedule::Sink& sink)
    : GroupOwners(kind, skeleton), _only(only), _sink(sink) {
  if (only == collective::no_rank) return;
  for (std::size_t group = 0; group < groups(); ++group)
    for (Rank member = 0; member < members(group); ++member)
      if (rank(group, member) == only) {
        _group = group;
        _member = member;
      }
}

void GroupMessages::send(Rank from, Rank to, Step step, How how, const Chunks& chunks,
                         schedule::Reg dst) {
  if (from != to && wants(from, to) && !chunks.empty())
    _sink.add(from, to, step, how, to_ranges(chunks), 0, dst);
}

void GroupMessages::combine_left(Rank rank, Step step, const Chunks& chunks) {
  if (wants(rank, rank) && !chunks.empty())
    _sink.add(rank, rank, step, How::combine_left, to_ranges(chunks), 1, 0);
}

void GroupMessages::cross(std::size_t from, std::size_t to, Step step, How how, schedule::Reg dst) {
  for_wanted({from, owners(from)}, {to, owners(to)}, [&](Rank sender, Rank receiver) {
    send(rank(from, sender), rank(to, receiver), step, how, shared(from, sender, to, receiver),
         dst);
  });
}

void GroupMessages::collect(Step step) {
  for (std::size_t group = 0; group < groups(); ++group)
    for_wanted({group, owners(group)}, {group, members(group)}, [&](Rank owner, Rank member) {
      const Rank from = rank(group, member);
      send(from, rank(group, owner), step, combine_within(group, from), owned(group, owner));
    });
}

void GroupMessages::spread(std::size_t group, Step step, Rank without) {
  for_wanted({group, owners(group)}, {group, members(group)}, [&](Rank owner, Rank member) {
    if (const Rank to = rank(group, member); to != without)
      send(rank(group, owner), to, step, How::copy, owned(group, owner));
  });
}

} // namespace thalweg::algorithms
