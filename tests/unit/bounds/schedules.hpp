#pragma once

#include "../schedule/toys.hpp"

#include <random>

/// Simple schedules of every collective, so that each bound meets some independent of the
/// algorithms.
namespace thalweg::bounds::testing {

using collective::Collective;
using collective::Kind;
using collective::Rank;
using schedule::How;
using schedule::test::Toy;

/// rank -> parent in a random tree whose ranks join in the order of `ranks`.
inline std::vector<Rank> random_parents(const std::vector<Rank>& ranks, std::mt19937& random) {
  std::vector<Rank> parents(ranks.size(), collective::no_rank);
  for (std::size_t i = 1; i < ranks.size(); ++i)
    parents[static_cast<std::size_t>(ranks[i])] = ranks[random() % i];
  return parents;
}

/// The root first, the others at random.
inline std::vector<Rank> random_order(const Collective& collective, std::mt19937& random) {
  std::vector<Rank> order;
  for (Rank rank = 0; rank < collective.ranks; ++rank)
    if (rank != collective.root) order.push_back(rank);
  std::shuffle(order.begin(), order.end(), random);
  order.insert(order.begin(), collective.root);
  return order;
}

/// Every block goes alone down (scatter) or up (gather) a random tree, and from its source to all
/// others over one of its own (allgather).
inline Toy tree_of_blocks(const Collective& collective, std::mt19937& random) {
  Toy toy{"blocks over trees", collective, collective.blocks(), {}};
  const std::vector<Rank> order = random_order(collective, random);
  std::vector<Rank> parents = random_parents(order, random);
  const auto parent = [&](Rank rank) { return parents[static_cast<std::size_t>(rank)]; };
  schedule::Step step = 0;
  for (Rank block = 0; block < collective.ranks; ++block) {
    if (collective.kind == Kind::allgather) {
      Collective own = collective;
      own.root = block;
      const std::vector<Rank> joined = random_order(own, random);
      parents = random_parents(joined, random);
      for (std::size_t i = 1; i < joined.size(); ++i)
        toy.messages.push_back(
            {parent(joined[i]), joined[i], static_cast<schedule::Step>(i), How::copy, {{block}}});
      continue;
    }
    std::vector<Rank> path = {block};
    while (path.back() != collective.root)
      path.push_back(parent(path.back()));
    if (collective.kind == Kind::scatter) std::reverse(path.begin(), path.end());
    for (std::size_t i = 0; i + 1 < path.size(); ++i)
      toy.messages.push_back({path[i], path[i + 1], step++, How::copy, {{block}}});
  }
  return toy;
}

/// Sends every block, or contribution to it, directly from its source to its destination.
inline Toy direct(const Collective& collective) {
  Toy toy{"direct", collective, collective.blocks(), {}};
  const Rank ranks = collective.ranks;
  for (Rank owner = 0; owner < ranks; ++owner)
    for (Rank distance = 1; distance < ranks; ++distance) {
      const Rank other = (owner + distance) % ranks;
      const auto block = static_cast<schedule::ChunkId>(owner);
      if (collective.kind == Kind::alltoall)
        toy.messages.push_back({owner, other, 0, How::copy, {{owner * ranks + other}}});
      else if (collective.kind == Kind::allgather)
        toy.messages.push_back({owner, other, 0, How::copy, {{block}}});
    }
  for (Rank owner = 0; owner < ranks && collective.kind == Kind::reduce_scatter; ++owner) {
    schedule::Step step = 0;
    for (Rank from = owner - 1; from >= 0; --from)
      toy.messages.push_back({from, owner, step++, How::combine_left, {{owner}}});
    for (Rank from = owner + 1; from < ranks; ++from)
      toy.messages.push_back({from, owner, step++, How::combine_right, {{owner}}});
  }
  return toy;
}

/// From rank to rank.
inline Toy chain_of_prefixes(const Collective& collective) {
  Toy toy{"chain", collective, 1, {}};
  const bool exclusive = collective.kind == Kind::exscan;
  for (Rank rank = 0; exclusive && rank + 1 < collective.ranks; ++rank)
    toy.messages.push_back({rank, rank, 0, How::copy, {{0}}, 0, 1});
  for (Rank rank = 0; rank + 1 < collective.ranks; ++rank) {
    if (!exclusive) {
      toy.messages.push_back({rank, rank + 1, rank, How::combine_left, {{0}}});
      continue;
    }
    toy.messages.push_back({rank, rank + 1, 2 * rank + 1, How::copy, {{0}}, 1, 0});
    if (rank + 2 < collective.ranks)
      toy.messages.push_back({rank + 1, rank + 1, 2 * rank + 2, How::combine_left, {{0}}, 0, 1});
  }
  return toy;
}

/// Returns the schedules that can do the collective.
inline std::vector<Toy> simple_schedules(const Collective& collective, std::mt19937& random) {
  std::vector<Toy> toys;
  switch (collective.kind) {
  case Kind::gather:
  case Kind::scatter:
    return {tree_of_blocks(collective, random), tree_of_blocks(collective, random)};
  case Kind::allgather:
    toys = {direct(collective), tree_of_blocks(collective, random),
            schedule::test::bruck_allgather(collective.ranks)};
    break;
  case Kind::reduce_scatter:
    toys = {direct(collective), schedule::test::ring_reduce_scatter(collective.ranks)};
    break;
  case Kind::alltoall:
    return {direct(collective)};
  case Kind::scan:
    toys = {chain_of_prefixes(collective), schedule::test::scan_by_doubling(collective.ranks)};
    break;
  case Kind::exscan:
    return {chain_of_prefixes(collective)};
  case Kind::barrier:
    toys = {schedule::test::dissemination_barrier(collective.ranks)};
    break;
  default:
    break;
  }
  for (Toy& toy : toys)
    toy.collective = collective;
  return toys;
}

} // namespace thalweg::bounds::testing
