#include "algorithms/sites/site_paths.hpp"

#include "algorithms/order.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace thalweg::algorithms {
namespace {

/// Returns the ranks by site, in the order given, the site of `first` first.
std::vector<std::vector<Rank>> by_site(const Problem& problem, const std::vector<Rank>& order) {
  const std::vector<std::int32_t> site_of = network::sites_of_hosts(problem.network, 0);
  std::vector<std::vector<Rank>> groups;
  std::map<std::int32_t, std::size_t> seen; // site -> index in groups
  for (const Rank rank : order) {
    const std::int32_t site = site_of[index(problem.placement[index(rank)])];
    const auto [at, is_new] = seen.try_emplace(site, groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(rank);
  }
  return groups;
}

double farness(const Problem& problem, const std::vector<Rank>& from, const std::vector<Rank>& to) {
  return problem.network
      .latency(problem.placement[index(from.front())], problem.placement[index(to.front())])
      .value();
}

} // namespace

SitePaths::SitePaths(const Problem& problem, const std::vector<std::vector<Rank>>& sites)
    : _problem(problem), _sites(sites) {
  for (const network::Trunk& trunk : problem.network.trunks) {
    Crossed crossed{trunk, std::vector<bool>(sites.size()), std::vector<bool>(sites.size())};
    for (std::size_t site = 0; site < sites.size(); ++site) {
      const network::HostId host = problem.placement[index(sites[site].front())];
      crossed.from[site] = std::ranges::find(trunk.from, host) != trunk.from.end();
      crossed.to[site] = std::ranges::find(trunk.to, host) != trunk.to.end();
    }
    for (std::size_t from = 0; from < sites.size(); ++from)
      for (std::size_t to = 0; to < sites.size(); ++to)
        if (crossed.from[from] && crossed.to[to] && is_used(from, to)) ++crossed.paths;
    _trunks.push_back(std::move(crossed));
  }
}

bool SitePaths::is_used(std::size_t from, std::size_t to) const {
  const collective::Kind kind = _problem.collective.kind;
  return from != to && (from == 0 || kind != collective::Kind::bcast) &&
         (to == 0 || kind != collective::Kind::reduce);
}

Rank SitePaths::senders(std::size_t from, std::size_t to) const {
  const auto host = [&](std::size_t site, Rank member) {
    return _problem.placement[index(_sites[site][index(member)])];
  };
  const auto most = static_cast<Rank>(std::min(_sites[from].size(), _sites[to].size()));
  double flow = 0;
  for (Rank i = 0; i < most; ++i)
    flow = std::max(flow, _problem.network.bandwidth(host(from, i), host(to, i)).value());
  Rank senders = most;
  for (const Crossed& crossed : _trunks) {
    if (!crossed.from[from] || !crossed.to[to]) continue;
    const network::Trunk& trunk = crossed.trunk;
    const double filling =
        trunk.senders > 0 ? trunk.senders : std::round(trunk.capacity.value() / flow);
    const double share = std::floor(filling / std::max(1, crossed.paths));
    if (share < static_cast<double>(senders)) senders = static_cast<Rank>(share);
  }
  return std::max(1, senders);
}

Rank SitePaths::owners(std::size_t site, std::span<const Rank> senders) const {
  Rank most = 1;
  for (std::size_t other = 0; other < _sites.size(); ++other) {
    if (is_used(site, other)) most = std::max(most, senders[site * _sites.size() + other]);
    if (is_used(other, site)) most = std::max(most, senders[other * _sites.size() + site]);
  }
  return std::min(most, static_cast<Rank>(_sites[site].size()));
}

void lay_out_sites(const Problem& problem, const Parameters& parameters, Skeleton& skeleton) {
  const Rank root = collective::is_rooted(problem.collective.kind) ? problem.collective.root
                                                                   : central_rank(problem);
  std::vector<std::vector<Rank>> groups =
      by_site(problem, make_order(problem, parameters, root, Shape::both_directions));
  std::stable_sort(groups.begin() + 1, groups.end(), [&](const auto& a, const auto& b) {
    return farness(problem, groups.front(), a) > farness(problem, groups.front(), b);
  });
  std::size_t largest = 1;
  for (const auto& group : groups) {
    skeleton.site_begins.push_back(static_cast<Rank>(skeleton.order.size()));
    skeleton.order.insert(skeleton.order.end(), group.begin(), group.end());
    largest = std::max(largest, group.size());
  }
  skeleton.chunks = chunks_per_member * static_cast<ChunkId>(largest);
  const SitePaths paths(problem, groups);
  for (std::size_t from = 0; from < groups.size(); ++from)
    for (std::size_t to = 0; to < groups.size(); ++to) {
      const auto members = static_cast<Rank>(groups[from].size());
      skeleton.senders.push_back(from == to               ? members
                                 : parameters.senders > 0 ? std::min(parameters.senders, members)
                                                          : paths.senders(from, to));
    }
  if (parameters.split == Split::early && groups.size() > 1) {
    const std::vector<Rank> senders = skeleton.senders;
    for (std::size_t site = 0; site < groups.size(); ++site)
      skeleton.senders[site * groups.size() + site] = paths.owners(site, senders);
  }
}

} // namespace thalweg::algorithms
