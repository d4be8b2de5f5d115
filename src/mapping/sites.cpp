#include "mapping/sites.hpp"

#include "mapping/part.hpp"
#include "network/host_classes.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace thalweg::mapping {
namespace {

/// The number of hosts of each site that stand for all in latencies and bandwidths between sites.
constexpr std::size_t most_sampled = 8;

using HostsOfSites = std::vector<std::vector<HostId>>;

/// Returns the network's sites, or all of its hosts as one, divided into as equal parts as have at
/// most so many hosts. Hosts behind the same trunks come one after the other there.
HostsOfSites small_sites(const Network& network, std::size_t most_hosts) {
  HostsOfSites whole = network.sites;
  if (whole.size() < 2) {
    whole.assign(1, std::vector<HostId>(network.hosts.size()));
    std::iota(whole.front().begin(), whole.front().end(), HostId{0});
  }
  const network::TrunkSets trunks(network);
  HostsOfSites parts;
  for (std::vector<HostId>& site : whole) {
    if (site.size() > most_hosts)
      std::ranges::stable_sort(site, {}, [&](HostId host) { return trunks.class_of(host); });
    const std::size_t count = (site.size() + most_hosts - 1) / most_hosts;
    for (std::size_t part = 0; part < count; ++part) {
      const auto at = [&](std::size_t p) {
        return site.begin() + static_cast<std::ptrdiff_t>(site.size() * p / count);
      };
      parts.emplace_back(at(part), at(part + 1));
    }
  }
  return parts;
}

class Sites {
public:
  Sites(const Problem& problem, const HostsOfSites& sites)
      : _problem(problem), _sites(sites), _site_of(problem.network.hosts.size(), 0),
        _number(problem.network.hosts.size(), 0) {
    for (std::size_t site = 0; site < sites.size(); ++site)
      for (std::size_t at = 0; at < sites[site].size(); ++at) {
        _site_of[index(sites[site][at])] = static_cast<HostId>(site);
        _number[index(sites[site][at])] = static_cast<HostId>(at);
      }
  }

  /// Returns the network whose hosts are the sites.
  [[nodiscard]] Network between() const {
    Network net =
        network::even_network(static_cast<HostId>(_sites.size()), Time(0), units::Rate(1));
    for (HostId a = 0; a < net.size(); ++a) {
      network::Host& site = net.hosts[index(a)];
      site.egress = site.ingress = units::Rate(0);
      for (const HostId host : _sites[index(a)]) {
        site.egress += _problem.network.hosts[index(host)].egress;
        site.ingress += _problem.network.hosts[index(host)].ingress;
      }
      for (HostId b = 0; b < net.size(); ++b)
        if (a != b) set_mean(net, a, b);
    }
    for (const network::Trunk& trunk : _problem.network.trunks) {
      network::Trunk outer{trunk.name, sites_of(trunk.from), sites_of(trunk.to), trunk.capacity};
      std::vector<HostId> both;
      std::ranges::set_intersection(outer.from, outer.to, std::back_inserter(both));
      if (both.empty()) net.trunks.push_back(std::move(outer));
    }
    return net;
  }

  /// Returns the problem of which rank is on which site.
  [[nodiscard]] Problem outer(const Network& sites) const {
    Problem outer{sites, _problem.communication, std::vector<std::int32_t>(sites.hosts.size()),
                  _problem.calls, _problem.metric};
    for (HostId host = 0; host < _problem.network.size(); ++host)
      outer.slots[index(_site_of[index(host)])] += _problem.slots[index(host)];
    outer.migration = _problem.migration;
    for (const HostId host : _problem.pinned)
      outer.pinned.push_back(host == no_host ? no_host : _site_of[index(host)]);
    for (const HostId host : _problem.previous)
      outer.previous.push_back(_site_of[index(host)]);
    return outer;
  }

  /// Returns the problem of which of a site's ranks is on which of its hosts.
  [[nodiscard]] Problem inner(const Network& net, HostId site, const std::vector<Rank>& ranks,
                              const std::vector<Rank>& number) const {
    std::vector<Traffic> entries;
    for (const Rank rank : ranks)
      for (const Communication::Peer& peer : _problem.communication.peers(rank))
        if (const Rank to = number[index(peer.rank)]; to != collective::no_rank)
          for (const auto& each : _problem.communication.by_phase(peer))
            entries.push_back(
                {number[index(rank)], to, each.sent_messages, each.sent_bytes, each.phase});
    Problem inner{net, {static_cast<Rank>(ranks.size()), std::move(entries)}, {}};
    for (const HostId host : _sites[index(site)])
      inner.slots.push_back(_problem.slots[index(host)]);
    inner.metric = _problem.metric;
    for (const Call& call : _problem.calls)
      if (auto own = inside(call, ranks, number)) inner.calls.push_back(std::move(*own));
    for (const Rank rank : ranks)
      if (const HostId host = _problem.pinned_to(rank); !_problem.pinned.empty())
        inner.pinned.push_back(host == no_host ? no_host : _number[index(host)]);
    const auto stays = [&](Rank rank) {
      return _site_of[index(_problem.previous[index(rank)])] == site;
    };
    if (!_problem.previous.empty() && std::ranges::all_of(ranks, stays)) {
      inner.migration = _problem.migration;
      for (const Rank rank : ranks)
        inner.previous.push_back(_number[index(_problem.previous[index(rank)])]);
    }
    return inner;
  }

private:
  /// Returns a call with the numbers that its ranks have at their site; none if others take part.
  [[nodiscard]] std::optional<Call> inside(Call call, const std::vector<Rank>& ranks,
                                           const std::vector<Rank>& number) const {
    if (call.members.empty() && std::cmp_less(ranks.size(), _problem.ranks())) return std::nullopt;
    for (Rank& member : call.members) {
      member = number[index(member)];
      if (member == collective::no_rank) return std::nullopt;
    }
    return call;
  }

  void set_mean(Network& net, HostId a, HostId b) const {
    const std::vector<HostId>&from = _sites[index(a)], &to = _sites[index(b)];
    const auto step = [](const std::vector<HostId>& hosts) {
      return std::max<std::size_t>(1, hosts.size() / most_sampled);
    };
    Time latency{};
    double seconds_per_byte = 0, count = 0;
    for (std::size_t i = 0; i < from.size(); i += step(from))
      for (std::size_t j = 0; j < to.size(); j += step(to)) {
        latency += _problem.network.latency(from[i], to[j]);
        seconds_per_byte += 1 / _problem.network.bandwidth(from[i], to[j]).value();
        ++count;
      }
    net.latency.set(a, b, latency / count);
    net.bandwidth.set(a, b, units::Rate(count / seconds_per_byte));
  }

  [[nodiscard]] std::vector<HostId> sites_of(const std::vector<HostId>& hosts) const {
    std::set<HostId> found;
    for (const HostId host : hosts)
      found.insert(_site_of[index(host)]);
    return {found.begin(), found.end()};
  }

  const Problem& _problem;
  const HostsOfSites& _sites;
  std::vector<HostId> _site_of, _number; ///< by host: its site, and its number there
};

} // namespace

Placement by_sites(const Problem& problem, std::size_t most_hosts,
                   const std::function<Placement(const Problem&)>& search) {
  const HostsOfSites hosts = small_sites(problem.network, most_hosts);
  const Sites sites(problem, hosts);
  const Network between = sites.between();
  const Placement site_of_rank = search(sites.outer(between));
  Placement placement(site_of_rank.size(), no_host);
  for (HostId site = 0; site < between.size(); ++site) {
    std::vector<Rank> ranks, number(placement.size(), collective::no_rank);
    for (Rank rank = 0; rank < problem.ranks(); ++rank)
      if (site_of_rank[index(rank)] == site) {
        number[index(rank)] = static_cast<Rank>(ranks.size());
        ranks.push_back(rank);
      }
    if (ranks.empty()) continue;
    const Network net = part(problem.network, hosts[index(site)]);
    const Placement found = search(sites.inner(net, site, ranks, number));
    for (std::size_t at = 0; at < ranks.size(); ++at)
      placement[index(ranks[at])] = hosts[index(site)][index(found[at])];
  }
  return placement;
}

} // namespace thalweg::mapping
