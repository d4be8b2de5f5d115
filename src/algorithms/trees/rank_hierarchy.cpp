#include "algorithms/trees/rank_hierarchy.hpp"

#include "algorithms/trees/tree.hpp"
#include "units/index.hpp"

#include <algorithm>

namespace thalweg::algorithms {
namespace {

using network::HostId;

/// Returns the network between some of its hosts, with the parts that hierarchies use.
Network part_of(const Network& whole, const std::vector<HostId>& hosts) {
  Network part;
  part.hosts.resize(hosts.size());
  part.latency = whole.latency.part(hosts);
  part.bandwidth = whole.bandwidth.part(hosts);
  for (const network::DeclaredGroup& group : whole.groups) {
    network::DeclaredGroup own{group.name, {}, group.network_class};
    for (const HostId host : group.hosts)
      if (const auto at = std::ranges::lower_bound(hosts, host); at != hosts.end() && *at == host)
        own.hosts.push_back(static_cast<HostId>(at - hosts.begin()));
    if (!own.hosts.empty()) part.groups.push_back(std::move(own));
  }
  return part;
}

/// Combines several groups into one; returns a single group unchanged.
RankGroup unite(std::vector<RankGroup> parts, network::NetworkClass network_class) {
  if (parts.size() == 1) return std::move(parts.front());
  RankGroup group{{}, std::move(parts), network_class};
  for (const RankGroup& part : group.parts)
    group.ranks.insert(group.ranks.end(), part.ranks.begin(), part.ranks.end());
  std::ranges::sort(group.ranks);
  return group;
}

/// Returns the placement on the network between `hosts`.
Placement place_on(const std::vector<HostId>& hosts, Placement placement) {
  for (HostId& host : placement)
    host = static_cast<HostId>(std::ranges::lower_bound(hosts, host) - hosts.begin());
  return placement;
}

RankGroup build_top(const Network& network, const Placement& placement,
                    const network::HierarchyOptions& options) {
  const network::Hierarchy hierarchy(network, options);
  const auto classes = network::group_classes(hierarchy, network);
  std::vector<std::vector<RankGroup>> parts(network.hosts.size()); // by group of a level
  for (std::size_t rank = 0; rank < placement.size(); ++rank)
    parts[index(placement[rank])].push_back({{static_cast<Rank>(rank)}, {}, {}});
  const auto& levels = hierarchy.levels();
  for (std::size_t level = 0; level + 1 < levels.size(); ++level) {
    std::vector<std::vector<RankGroup>> next(levels[level + 1].groups.size());
    for (std::size_t group = 0; group < parts.size(); ++group)
      next[hierarchy.group_of(level + 1, levels[level].groups[group].front())].push_back(
          unite(std::move(parts[group]), classes[level][group]));
    parts = std::move(next);
  }
  return unite(std::move(parts.front()), classes.back().front());
}

} // namespace

network::HierarchyOptions hierarchy_options(const Problem& problem, const Parameters& parameters) {
  return {.size = std::max<Size>(1, problem.collective.size),
          .base = static_cast<double>(parameters.base),
          .most_span = parameters.span,
          .adjust = parameters.adjust,
          .scale = parameters.scale};
}

RankHierarchy::RankHierarchy(const Problem& problem, const network::HierarchyOptions& options)
    : _kind(problem.collective.kind), _size(options.size),
      _network(part_of(problem.network, network::used_hosts(problem.placement))),
      _placement(place_on(network::used_hosts(problem.placement), problem.placement)),
      _levels(network::performance(_network, options.size, options.base, options.scale)),
      _top(build_top(_network, _placement, options)) {}

RankHierarchy::Cost RankHierarchy::cost(Rank from, Rank to) const {
  const HostId a = _placement[index(from)], b = _placement[index(to)];
  if (a == b) return {};
  return {_levels(a, b), _network.transfer_time(a, b, _size).value()};
}

RankHierarchy::Cost RankHierarchy::cost_below(Rank upper, Rank lower) const {
  Cost sum{};
  const auto add = [&](Cost one) {
    sum.first += one.first;
    sum.second += one.second;
  };
  if (flows_down(_kind)) add(cost(upper, lower));
  if (flows_up(_kind)) add(cost(lower, upper));
  return sum;
}

} // namespace thalweg::algorithms
