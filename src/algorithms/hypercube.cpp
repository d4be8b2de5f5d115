#include "algorithms/hypercube.hpp"

#include <algorithm>
#include <bit>

namespace thalweg::algorithms {

using schedule::How;
using schedule::Range;

namespace {
std::size_t index(std::int32_t value) { return static_cast<std::size_t>(value); }
} // namespace

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

How Hypercube::how(std::int32_t from, std::int32_t round) const {
  const std::vector<Rank>& lowest = _lowest[index(round)];
  const std::int32_t block = from >> round;
  return lowest[index(block)] < lowest[index(block ^ 1)] ? How::combine_left : How::combine_right;
}

void HypercubeAlgorithm::emit(collective::Kind /*kind*/, const Skeleton& skeleton, Rank rank,
                              Sink& sink) const {
  const Hypercube cube(skeleton.order);
  const Range all{0, skeleton.chunks, 1};
  const bool everyone = rank == collective::no_rank;
  for (std::int32_t corner = 0; corner < cube.corners(); ++corner) {
    const Rank here = cube.rank(corner);
    if (corner < cube.folded()) {
      const Rank other = cube.folded_rank(corner);
      if (everyone || rank == here || rank == other) {
        sink.add(other, here, 0, other < here ? How::combine_left : How::combine_right, all);
        sink.add(here, other, cube.begin() + steps(cube), How::copy, all);
      }
    }
    if (!everyone && rank != here) continue;
    for (std::int32_t round = 0; round < cube.rounds(); ++round) {
      add_sends(cube, corner, round, sink);
      if (!everyone) add_sends(cube, corner ^ (std::int32_t{1} << round), round, sink);
    }
  }
  sink.sort();
}

} // namespace thalweg::algorithms
