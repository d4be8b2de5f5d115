#include "mapping/starts.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace thalweg::mapping {
namespace {

/// Groups of ranks, as ranks of a smaller program.
struct Groups {
  Communication communication;
  std::vector<Rank> of;    ///< by rank
  std::vector<Rank> sizes; ///< by group
};

/// Joins pairs of groups, those that send each other most first, each group at most once.
/// @returns whether any
bool join_pairs(Groups& groups, const HostCosts::Pair& middling, Rank largest) {
  struct Edge {
    double weight;
    Rank a, b;
  };
  std::vector<Edge> edges;
  for (Rank rank = 0; rank < groups.communication.ranks(); ++rank)
    for (const Communication::Peer& peer : groups.communication.peers(rank))
      if (rank < peer.rank && groups.sizes[index(rank)] + groups.sizes[index(peer.rank)] <= largest)
        edges.push_back({weight(peer, middling), rank, peer.rank});
  if (edges.empty()) return false;
  std::ranges::stable_sort(edges, std::greater(), &Edge::weight);
  std::vector<Rank> number(groups.sizes.size(), collective::no_rank), sizes;
  for (const Edge& edge : edges) {
    if (number[index(edge.a)] != collective::no_rank ||
        number[index(edge.b)] != collective::no_rank)
      continue;
    number[index(edge.a)] = number[index(edge.b)] = static_cast<Rank>(sizes.size());
    sizes.push_back(groups.sizes[index(edge.a)] + groups.sizes[index(edge.b)]);
  }
  for (std::size_t group = 0; group < number.size(); ++group)
    if (number[group] == collective::no_rank) {
      number[group] = static_cast<Rank>(sizes.size());
      sizes.push_back(groups.sizes[group]);
    }
  groups.communication = groups.communication.between(number, static_cast<Rank>(sizes.size()));
  for (Rank& group : groups.of)
    group = number[index(group)];
  groups.sizes = std::move(sizes);
  return true;
}

} // namespace

Placement join(const Problem& problem, const HostCosts& costs,
               const std::vector<std::int32_t>& slots) {
  Groups groups{problem.communication, std::vector<Rank>(index(problem.ranks())),
                std::vector<Rank>(index(problem.ranks()), 1)};
  std::iota(groups.of.begin(), groups.of.end(), 0);
  const HostCosts::Pair pair = middling(problem, costs);
  // Around a rank that all others exchange messages with, each round joins but one pair.
  auto rounds = 4 * std::bit_width(index(problem.ranks()));
  while (rounds-- > 0 && join_pairs(groups, pair, *std::ranges::max_element(slots))) {
  }
  std::vector<std::size_t> order(groups.sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(),
                           [&](std::size_t group) { return groups.sizes[group]; });
  std::vector<std::int32_t> left = slots;
  std::vector<HostId> host_of(groups.sizes.size());
  for (const std::size_t group : order) {
    const auto roomiest = std::ranges::max_element(left);
    host_of[group] = static_cast<HostId>(roomiest - left.begin());
    *roomiest -= groups.sizes[group];
  }
  Placement placement;
  for (const Rank group : groups.of)
    placement.push_back(host_of[index(group)]);
  return repair(problem, costs, slots, std::move(placement));
}

} // namespace thalweg::mapping
