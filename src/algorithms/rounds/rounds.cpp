#include "algorithms/rounds/rounds.hpp"

#include "algorithms/order.hpp"
#include "algorithms/ranges.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <bit>

namespace thalweg::algorithms {

using collective::Kind;
using collective::no_rank;
using schedule::Range;

Step doublings(Rank ranks) {
  return static_cast<Step>(std::bit_width(static_cast<std::uint32_t>(ranks - 1)));
}

Circle::Circle(Kind kind, const std::vector<Rank>& order)
    : _order(order), _blocks(Collective{.kind = kind, .ranks = 2}.blocks() > 1) {
  if (!collective::is_reduction(kind) || kind == Kind::barrier) return;
  _lowest.push_back(order);
  for (Rank half = 1; 2 * half <= size(); half *= 2) {
    const std::vector<Rank>& halves = _lowest.back();
    std::vector<Rank> wholes(order.size());
    for (Rank first = 0; first < size(); ++first)
      wholes[index(first)] = std::min(halves[index(first)], halves[index(wrap(first + half))]);
    _lowest.push_back(std::move(wholes));
  }
}

Rank Circle::at(Rank position) const { return _order[index(wrap(position))]; }

Rank Circle::lowest(Rank first, Rank count) const {
  const auto level = static_cast<Step>(std::bit_width(static_cast<std::uint32_t>(count))) - 1;
  const std::vector<Rank>& lowest = _lowest[index(level)];
  const Rank last_part = first + count - (Rank{1} << level);
  return std::min(lowest[index(wrap(first))], lowest[index(wrap(last_part))]);
}

std::vector<Range> Circle::chunks(Rank first, Rank count) const {
  if (!_blocks) return around(wrap(first), count, size());
  std::vector<ChunkId> blocks(index(count));
  for (Rank i = 0; i < count; ++i)
    blocks[index(i)] = at(first + i);
  std::ranges::sort(blocks);
  return to_ranges(blocks);
}

Skeleton RoundAlgorithm::build(const Problem& problem, const Parameters& parameters) const {
  const Collective& collective = problem.collective;
  Skeleton skeleton = begin(problem, parameters);
  if (collective.kind != Kind::barrier)
    skeleton.chunks = std::max<ChunkId>(skeleton.ranks, skeleton.chunks);
  skeleton.window = window(parameters);
  skeleton.order = make_order(problem, parameters, collective.root, Shape::ring);
  return skeleton;
}

void RoundAlgorithm::emit(Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const {
  const Circle circle(kind, skeleton.order);
  const Rank ranks = skeleton.ranks;
  const auto add = [&](Rank from, Rank to, Step round) {
    const Message message = this->message(kind, circle, from, to, round);
    if (!message.what.empty())
      sink.add(circle.at(from), circle.at(to), round, message.how, message.what);
  };
  const auto add_sends = [&](Rank from) {
    for (Step round = 0; round < rounds(kind, ranks); ++round)
      if (const Rank to = receiver(ranks, from, round); to != no_rank) add(from, to, round);
  };
  if (rank == no_rank) {
    for (Rank from = 0; from < ranks; ++from)
      add_sends(from);
  } else {
    const auto position =
        static_cast<Rank>(std::ranges::find(skeleton.order, rank) - skeleton.order.begin());
    add_sends(position);
    for (Step round = 0; round < rounds(kind, ranks); ++round)
      if (const Rank from = sender(ranks, position, round); from != no_rank)
        add(from, position, round);
  }
  sink.sort();
}

Step DoublingDistance::rounds(Kind /*kind*/, Rank ranks) const { return doublings(ranks); }

Rank DoublingDistance::receiver(Rank ranks, Rank position, Step round) const {
  return (position + (Rank{1} << round)) % ranks;
}

Rank DoublingDistance::sender(Rank ranks, Rank position, Step round) const {
  return (position - (Rank{1} << round) + ranks) % ranks;
}

Step ShiftAlgorithm::rounds(Kind /*kind*/, Rank ranks) const { return ranks - 1; }

Rank ShiftAlgorithm::receiver(Rank ranks, Rank position, Step round) const {
  return (position + round + 1) % ranks;
}

Rank ShiftAlgorithm::sender(Rank ranks, Rank position, Step round) const {
  return (position - round - 1 + ranks) % ranks;
}

RoundAlgorithm::Message ShiftAlgorithm::message(Kind kind, const Circle& circle, Rank from, Rank to,
                                                Step /*round*/) const {
  return {{{kind == Kind::alltoall ? circle.block(from, to) : circle.at(from), 1, 1}}};
}

DoublingRounds::DoublingRounds(Rank ranks) : _ranks(ranks) {
  for (Rank group = 1; group < ranks; group *= 2) {
    _rounds.push_back({group, 0});
    if (smaller(group).count < group)
      for (Rank distance = group / 2; distance > 0; distance /= 2)
        _rounds.push_back({group, distance});
  }
}

DoublingRounds::Stretch DoublingRounds::smaller(Rank group) const {
  const Rank first = _ranks / (2 * group) * (2 * group);
  const Rank count = _ranks - first - group;
  return {first, count > 0 ? count : group}; // none: as if whole
}

Rank DoublingRounds::receiver(Rank position, Step round) const {
  const auto [group, distance] = _rounds[index(round)];
  if (distance == 0) {
    const Rank to = position ^ group;
    return to < _ranks ? to : no_rank;
  }
  const auto [first, count] = smaller(group);
  if (position < first || position >= first + group) return no_rank;
  // Among 2 · distance ranks the first `count` have the data.
  const Rank offset = (position - first) % (2 * distance);
  return offset < distance && offset < count && offset + distance >= count ? position + distance
                                                                           : no_rank;
}

Rank DoublingRounds::sender(Rank position, Step round) const {
  const auto [group, distance] = _rounds[index(round)];
  if (distance == 0) return receiver(position, round);
  return position >= distance && receiver(position - distance, round) == position
             ? position - distance
             : no_rank;
}

DoublingRounds::Stretch DoublingRounds::sent(Rank from, Step round) const {
  const auto [group, distance] = _rounds[index(round)];
  if (distance == 0) {
    const Rank first = from / group * group;
    return {first, std::min(group, _ranks - first)};
  }
  const auto [first, count] = smaller(group);
  return {first + group, count};
}

} // namespace thalweg::algorithms
