#include "algorithms/rounds/hypercube.hpp"

#include "algorithms/ranges.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <bit>

namespace thalweg::algorithms {

using collective::Kind;
using schedule::How;
using schedule::Range;

Hypercube::Hypercube(const std::vector<Rank>& order)
    : _order(order), _rounds(static_cast<std::int32_t>(std::bit_width(order.size())) - 1),
      _lowest(index(_rounds) + 1) {
  for (std::int32_t corner = 0; corner < corners(); ++corner)
    _lowest[0].push_back(corner < folded() ? std::min(rank(corner), folded_rank(corner))
                                           : rank(corner));
  for (std::size_t round = 1; round < _lowest.size(); ++round)
    for (std::size_t block = 0; block < _lowest[round - 1].size(); block += 2)
      _lowest[round].push_back(std::min(_lowest[round - 1][block], _lowest[round - 1][block + 1]));
}

Rank Hypercube::rank(std::int32_t corner) const {
  return _order[index(corner < folded() ? 2 * corner + 1 : corner + folded())];
}

Rank Hypercube::folded_rank(std::int32_t corner) const { return _order[index(2 * corner)]; }

std::int32_t Hypercube::corner(Rank rank) const {
  const auto position = static_cast<std::int32_t>(std::ranges::find(_order, rank) - _order.begin());
  return position < 2 * folded() ? position / 2 : position - folded();
}

How Hypercube::how(std::int32_t from, std::int32_t round) const {
  const std::vector<Rank>& lowest = _lowest[index(round)];
  const std::int32_t block = from >> round;
  return lowest[index(block)] < lowest[index(block ^ 1)] ? How::combine_left : How::combine_right;
}

std::vector<Rank> farthest_first(const std::vector<Rank>& near) {
  const Hypercube cube(near);
  std::vector<Rank> order(near.size());
  auto next = near.begin();
  for (std::int32_t i = 0; i < cube.corners(); ++i) {
    std::int32_t corner = 0; // i with its bits reversed
    for (std::int32_t bit = 0; bit < cube.rounds(); ++bit)
      corner |= (i >> bit & 1) << (cube.rounds() - 1 - bit);
    const bool folded = corner < cube.folded();
    const auto position = folded ? 2 * corner : corner + cube.folded();
    const std::ptrdiff_t ranks = folded ? 2 : 1;
    std::copy(next, next + ranks, order.begin() + position);
    next += ranks;
  }
  return order;
}

void HypercubeAlgorithm::emit(Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const {
  const Hypercube cube(skeleton.order);
  const Context context{kind, skeleton, cube, cube.corner(skeleton.root)};
  const Range all{0, skeleton.chunks, 1};
  const bool everyone = rank == collective::no_rank;
  for (std::int32_t corner = 0; corner < cube.corners(); ++corner) {
    const Rank here = cube.rank(corner);
    if (corner < cube.folded()) {
      const Rank other = cube.folded_rank(corner);
      if (everyone || rank == here || rank == other) {
        sink.add(other, here, 0, other < here ? How::combine_left : How::combine_right, all);
        if (kind != Kind::reduce)
          sink.add(here, other, cube.begin() + steps(cube), How::copy,
                   kind == Kind::reduce_scatter ? Range{other, 1, 1} : all);
      }
    }
    if (!everyone && rank != here) continue;
    for (std::int32_t round = 0; round < cube.rounds(); ++round) {
      add_sends(context, corner, round, sink);
      if (!everyone) add_sends(context, corner ^ (std::int32_t{1} << round), round, sink);
    }
  }
  sink.sort();
}

Skeleton HalvingAlgorithm::halving(const Problem& problem, const Parameters& parameters,
                                   std::vector<Rank> order) const {
  Skeleton skeleton = begin(problem, parameters);
  skeleton.chunks = skeleton.ranks;
  skeleton.order = std::move(order);
  return skeleton;
}

void HalvingAlgorithm::add_sends(const Context& context, std::int32_t from, std::int32_t round,
                                 Sink& sink) const {
  const Hypercube& cube = context.cube;
  const std::int32_t distance = std::int32_t{1} << round, to = from ^ distance;
  std::vector<ChunkId> blocks; // of those that `to` still deals with
  for (std::int32_t corner = to % (2 * distance); corner < cube.corners(); corner += 2 * distance) {
    blocks.push_back(cube.rank(corner));
    if (corner < cube.folded()) blocks.push_back(cube.folded_rank(corner));
  }
  std::ranges::sort(blocks);
  sink.add(cube.rank(from), cube.rank(to), cube.begin() + round, cube.how(from, round),
           to_ranges(blocks));
}

} // namespace thalweg::algorithms
