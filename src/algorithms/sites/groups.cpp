#include "algorithms/sites/groups.hpp"

#include "algorithms/cache.hpp"
#include "algorithms/site_graph.hpp"
#include "optimization/prim.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

namespace thalweg::algorithms {
namespace {

using network::HostId;

/// By how much more than its parts a group must be apart from others.
constexpr double distinct = 2;
/// How much farther hosts count as being apart if a trunk is between them.
constexpr double across_trunk = 2;
/// A slow port's share of the fastest one's rate in its group.
constexpr double slow = 0.5;

} // namespace

Dendrogram::Dendrogram(const Problem& problem) {
  const SiteGraph graph = site_graph(problem, DataFlow::spread);
  _hosts = graph.ranks;
  const auto distance = [&](HostId a, HostId b) {
    const double latency = std::max(graph.latency(a, b), graph.latency(b, a));
    const bool apart = graph.site_of[index(a)] != graph.site_of[index(b)];
    return latency * (apart ? across_trunk : 1);
  };
  auto tree = optimization::spanning_tree(graph.size(), 0, distance, optimization::Tie::upper);
  std::ranges::sort(tree, {}, &optimization::Link::lower);
  for (const optimization::Link& link : tree)
    _links.push_back({index(link.lower), index(link.upper), link.weight});
  std::ranges::stable_sort(_links, std::greater<>(), &Link::distance);
}

std::vector<std::vector<Rank>> Dendrogram::cut(std::size_t count) const {
  const std::size_t cuts = std::min(std::max<std::size_t>(count, 1) - 1, _links.size());
  std::vector<std::size_t> leader(_hosts.size());
  std::iota(leader.begin(), leader.end(), 0);
  const auto find = [&](std::size_t host) {
    while (leader[host] != host)
      host = leader[host] = leader[leader[host]];
    return host;
  };
  for (std::size_t at = cuts; at < _links.size(); ++at)
    leader[find(_links[at].a)] = find(_links[at].b);
  std::vector<std::vector<Rank>> groups(_hosts.size());
  for (std::size_t host = 0; host < _hosts.size(); ++host) {
    auto& group = groups[find(host)];
    group.insert(group.end(), _hosts[host].begin(), _hosts[host].end());
  }
  std::erase_if(groups, [](const auto& group) { return group.empty(); });
  for (auto& group : groups)
    std::ranges::sort(group);
  std::ranges::sort(groups, {}, [](const auto& group) { return group.front(); });
  return groups;
}

std::vector<std::size_t> Dendrogram::natural_counts() const {
  struct Level {
    std::size_t count;
    double gap;
  };
  std::vector<Level> levels;
  for (std::size_t at = 0; at + 1 < _links.size(); ++at)
    if (_links[at].distance > 0 && _links[at].distance >= distinct * _links[at + 1].distance)
      levels.push_back({at + 2, _links[at + 1].distance / _links[at].distance});
  std::ranges::stable_sort(levels, {}, &Level::gap);
  std::vector<std::size_t> counts;
  for (const Level& level : levels)
    counts.push_back(level.count);
  return counts;
}

Dendrogram dendrogram(const Problem& problem) {
  const auto find = [&] { return Dendrogram(problem); };
  return problem.cache != nullptr ? problem.cache->dendrogram(find) : find();
}

Rank sort_by_suitability(const Problem& problem, std::vector<Rank>& group) {
  std::map<network::HostId, int> seen;
  struct Member {
    bool is_root;
    double rate;
    int nth; ///< of its host
    Rank rank;
  };
  std::vector<Member> members;
  double fastest = 0;
  for (const Rank rank : group) {
    const network::HostId host = problem.placement[index(rank)];
    const network::Host& port = problem.network.hosts[index(host)];
    const double rate = std::min(port.egress, port.ingress).value();
    fastest = std::max(fastest, rate);
    const bool is_root =
        collective::is_rooted(problem.collective.kind) && rank == problem.collective.root;
    members.push_back({is_root, rate, seen[host]++, rank});
  }
  const auto is_slow = [&](const Member& member) { return member.rate < slow * fastest; };
  std::ranges::stable_sort(members, {}, [&](const Member& member) {
    return std::tuple(!member.is_root, is_slow(member), member.nth);
  });
  for (std::size_t at = 0; at < group.size(); ++at)
    group[at] = members[at].rank;
  const auto fast = std::ranges::count_if(members, std::not_fn(is_slow));
  return std::max<Rank>(1, static_cast<Rank>(fast));
}

} // namespace thalweg::algorithms
