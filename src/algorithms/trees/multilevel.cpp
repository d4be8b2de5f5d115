#include "algorithms/trees/multilevel.hpp"

#include "algorithms/cache.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <functional>

namespace thalweg::algorithms {
namespace {

/// Joins all of `group` to a tree that already contains its first rank: each below that one.
void join_flatly(std::span<const Rank> group, std::vector<Rank>& order,
                 std::vector<Rank>& parents) {
  for (const Rank rank : group.subspan(1)) {
    order.push_back(rank);
    parents[index(rank)] = group.front();
  }
}

RankGroup groups_by_latency(const Problem& problem, const Parameters& parameters) {
  network::HierarchyOptions options = hierarchy_options(problem, parameters);
  options.size = 0; // of latencies
  const auto find = [&] { return RankHierarchy(problem, options).top(); };
  return problem.cache != nullptr ? problem.cache->latency_groups(options, find) : find();
}

} // namespace

void MultilevelAlgorithm::join(const Problem& /*problem*/, network::NetworkClass network_class,
                               std::span<const Rank> leaders, std::vector<Rank>& order,
                               std::vector<Rank>& parents) const {
  if (network_class >= network::NetworkClass::light_wan)
    join_flatly(leaders, order, parents);
  else
    join_binomially(leaders, order, parents);
}

Skeleton MultilevelAlgorithm::build(const Problem& problem, const Parameters& parameters) const {
  const Rank root = natural_root(problem);
  const RankGroup top = groups_by_latency(problem, parameters);
  std::vector<Rank> order = {root};
  std::vector<Rank> parents(problem.placement.size(), collective::no_rank);

  /// Collects the parts of a group that are of lower levels.
  const std::function<void(const RankGroup&, int, std::vector<const RankGroup*>&)> collect =
      [&](const RankGroup& group, int above, std::vector<const RankGroup*>& parts) {
        for (const RankGroup& part : group.parts)
          if (!part.parts.empty() && level(part.network_class) == above)
            collect(part, above, parts);
          else
            parts.push_back(&part);
      };
  const std::function<void(const RankGroup&, Rank)> add = [&](const RankGroup& group, Rank leader) {
    std::vector<const RankGroup*> parts;
    collect(group, level(group.network_class), parts);
    const auto lead = [&](const RankGroup& part) {
      return std::ranges::binary_search(part.ranks, leader) ? leader : part.ranks.front();
    };
    std::vector<Rank> leaders;
    for (const RankGroup* part : parts)
      leaders.push_back(lead(*part));
    std::ranges::sort(leaders);
    const auto first = std::ranges::find(leaders, leader);
    std::rotate(leaders.begin(), first, first == leaders.end() ? first : first + 1);
    if (leaders.size() > 1) join(problem, group.network_class, leaders, order, parents);
    for (const RankGroup* part : parts)
      add(*part, lead(*part));
  };
  add(top, root);
  return tree(problem, parameters, std::move(order), std::move(parents));
}

} // namespace thalweg::algorithms
