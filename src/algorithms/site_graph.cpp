#include "algorithms/site_graph.hpp"

#include "algorithms/cache.hpp"
#include "algorithms/used_hosts.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace thalweg::algorithms {
namespace {

using network::HostId;

/// What an unlimited rate counts as, in bytes per second: faster than any network, yet few enough
/// times as fast as a slow one that prices of shares don't vanish when trees are packed.
constexpr double unlimited = 1e12;

double finite(units::Rate rate) { return std::min(rate.value(), unlimited); }

std::vector<char> marked(const std::vector<HostId>& hosts, std::size_t count) {
  std::vector<char> mark(count, 0);
  for (const HostId host : hosts)
    mark[index(host)] = 1;
  return mark;
}

} // namespace

SiteGraph::SiteGraph(const Problem& problem, DataFlow wanted)
    : network(problem.network), flow(wanted) {
  add_hosts(problem);
  add_ports();
  add_sites();
  add_means();
}

double SiteGraph::bandwidth(HostId from, HostId to) const {
  const HostId a = hosts[index(from)], b = hosts[index(to)];
  if (flow == DataFlow::spread) return finite(network.bandwidth(a, b));
  if (flow == DataFlow::collect) return finite(network.bandwidth(b, a));
  return finite(std::min(network.bandwidth(a, b), network.bandwidth(b, a)));
}

double SiteGraph::parallel_bandwidth(HostId from, HostId to) const {
  const std::size_t pairs = std::min(ranks[index(from)].size(), ranks[index(to)].size());
  return bandwidth(from, to) * static_cast<double>(pairs);
}

double SiteGraph::latency(HostId from, HostId to) const {
  const HostId a = hosts[index(from)], b = hosts[index(to)];
  if (flow == DataFlow::spread) return network.latency(a, b).value();
  if (flow == DataFlow::collect) return network.latency(b, a).value();
  return std::max(network.latency(a, b), network.latency(b, a)).value();
}

void SiteGraph::add_hosts(const Problem& problem) {
  UsedHosts used(network, problem.placement);
  hosts = std::move(used.hosts);
  ranks = std::move(used.ranks);
}

void SiteGraph::add_ports() {
  for (HostId host = 0; host < size(); ++host) {
    const network::Host& own = network.hosts[index(hosts[index(host)])];
    double sends = own.egress.value(), takes = own.ingress.value();
    if (flow == DataFlow::collect) std::swap(sends, takes);
    double sent = 0, taken = 0;
    for (HostId other = 0; other < size(); ++other)
      if (other != host) {
        const double rate = parallel_bandwidth(host, other);
        fastest = std::max(fastest, rate);
        sent += rate;
        taken += parallel_bandwidth(other, host);
      }
    sends = std::min(sends, sent);
    takes = std::min(takes, taken);
    egress.push_back(flow == DataFlow::both ? std::min(sends, takes) : sends);
    ingress.push_back(flow == DataFlow::both ? std::min(sends, takes) : takes);
  }
}

void SiteGraph::add_sites() {
  std::vector<std::vector<std::int32_t>> signature(hosts.size(), {0});
  for (std::size_t site = 0; site < network.sites.size(); ++site) {
    const std::vector<char> inside = marked(network.sites[site], network.hosts.size());
    for (HostId host = 0; host < size(); ++host)
      if (inside[index(hosts[index(host)])])
        signature[index(host)].front() = static_cast<std::int32_t>(site);
  }
  for (const network::Trunk& trunk : network.trunks) {
    const std::vector<char> from = marked(trunk.from, network.hosts.size());
    const std::vector<char> to = marked(trunk.to, network.hosts.size());
    for (HostId host = 0; host < size(); ++host) {
      const std::size_t own = index(hosts[index(host)]);
      signature[index(host)].push_back(from[own] - to[own]);
    }
  }
  std::map<std::vector<std::int32_t>, Site> known;
  for (HostId host = 0; host < size(); ++host) {
    const auto [at, is_new] =
        known.try_emplace(signature[index(host)], static_cast<Site>(sites.size()));
    if (is_new) sites.emplace_back();
    site_of.push_back(at->second);
    sites[index(at->second)].push_back(host);
  }
  for (std::size_t trunk = 0; trunk < network.trunks.size(); ++trunk) {
    Trunk own{finite(network.trunks[trunk].capacity), {}, {}};
    for (const auto& site : sites) {
      const std::int32_t side = signature[index(site.front())][trunk + 1];
      own.from.push_back(side > 0);
      own.to.push_back(side < 0);
    }
    if (flow == DataFlow::collect) own.from.swap(own.to);
    const auto any = [](const std::vector<char>& marks) {
      return std::ranges::find(marks, 1) != marks.end();
    };
    if (any(own.from) && any(own.to)) trunks.push_back(std::move(own));
  }
}

void SiteGraph::add_means() {
  latencies = network::Matrix<double>(sites.size());
  bandwidths = network::Matrix<double>(sites.size());
  network::Matrix<double> pairs(sites.size());
  for (HostId a = 0; a < size(); ++a)
    for (HostId b = 0; b < size(); ++b) {
      if (a == b) continue;
      const Site from = site_of[index(a)], to = site_of[index(b)];
      latencies(from, to) += latency(a, b);
      bandwidths(from, to) += bandwidth(a, b);
      pairs(from, to) += 1;
    }
  const auto count = static_cast<Site>(sites.size());
  for (Site from = 0; from < count; ++from)
    for (Site to = 0; to < count; ++to) {
      if (pairs(from, to) > 0) {
        latencies(from, to) /= pairs(from, to);
        bandwidths(from, to) /= pairs(from, to);
      } else {
        bandwidths(from, to) = std::numeric_limits<double>::infinity();
      }
    }
}

DataFlow flow_of(collective::Kind kind) {
  using collective::Kind;
  if (kind == Kind::allreduce) return DataFlow::both;
  return kind == Kind::bcast || kind == Kind::allgather ? DataFlow::spread : DataFlow::collect;
}

SiteGraph site_graph(const Problem& problem, DataFlow flow) {
  const auto find = [&] { return SiteGraph(problem, flow); };
  return problem.cache != nullptr ? problem.cache->site_graph(flow, find) : find();
}

} // namespace thalweg::algorithms
