#include "mapping/collectives.hpp"

#include "mapping/state.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

namespace thalweg::mapping {
namespace {

using collective::Kind;

/// The bytes that must cross the border of a group of ranks in the busier direction.
/// @param inside ranks of the group, of `ranks`
double crossing(const Call& call, double inside, double ranks, bool has_root) {
  const auto size = static_cast<double>(call.size);
  const double outside = ranks - inside;
  switch (call.kind) {
  case Kind::bcast:
  case Kind::reduce:
  case Kind::allreduce:
  case Kind::scan:
  case Kind::exscan:
    return size;
  case Kind::gather:
  case Kind::scatter:
    return size * (has_root ? outside : inside);
  case Kind::allgather:
  case Kind::reduce_scatter:
    return size * std::max(inside, outside);
  case Kind::alltoall:
    return size * inside * outside;
  case Kind::barrier:
    return 0;
  }
  return 0;
}

/// Whether data goes to one rank, or to an order of ranks, and comes back.
bool returns(Kind kind) { return kind == Kind::allreduce || kind == Kind::barrier; }

double levels(std::size_t groups) {
  return groups < 2 ? 0 : static_cast<double>(std::bit_width(groups - 1));
}

/// Up to so many hosts of a site all pairs count; beyond, each host's mean does.
constexpr std::size_t most_pairs_of_hosts = 16;

} // namespace

Collectives::Collectives(const Problem& problem, const Placement& placement) : _problem(&problem) {
  if (problem.calls.empty()) return;
  describe_hosts();
  describe_sites();
  std::map<std::vector<Rank>, std::size_t> known;
  _of_rank.resize(index(problem.ranks()));
  for (const Call& call : problem.calls) {
    std::vector<Rank> members = call.members;
    if (members.empty()) {
      members.resize(index(problem.ranks()));
      std::iota(members.begin(), members.end(), 0);
    }
    const auto [found, is_new] = known.try_emplace(members, _communicators.size());
    if (is_new) {
      for (const Rank member : members)
        _of_rank[index(member)].push_back(found->second);
      _communicators.push_back({std::move(members), {}, {}, 0});
    }
    Communicator& communicator = _communicators[found->second];
    communicator.calls.push_back(call);
    communicator.calls.back().members.clear();
  }
  for (Communicator& each : _communicators) {
    std::map<HostId, Rank> counts;
    for (const Rank member : each.members)
      ++counts[placement[index(member)]];
    for (const auto& [host, count] : counts)
      each.shares.push_back({host, count});
    each.seconds = seconds(each, each.shares, {}, placement);
    _total += each.seconds;
  }
}

void Collectives::describe_hosts() {
  const Network& network = _problem->network;
  const std::size_t hosts = network.hosts.size();
  _site_of.assign(hosts, 0);
  for (std::size_t site = 0; site < network.sites.size(); ++site)
    for (const HostId host : network.sites[site])
      _site_of[index(host)] = static_cast<std::int32_t>(site);
  for (HostId host = 0; host < network.size(); ++host) {
    double latency = 0, rate = 0, others = 0;
    for (HostId other = 0; other < network.size(); ++other)
      if (other != host && _site_of[index(other)] == _site_of[index(host)]) {
        latency += network.latency(host, other).value();
        rate = std::max(rate, network.bandwidth(host, other).value());
        ++others;
      }
    const network::Host& ports = network.hosts[index(host)];
    const double port = std::min(ports.egress, ports.ingress).value();
    _latency.push_back(others > 0 ? latency / others : 0);
    _rate.push_back(std::isfinite(port) || rate == 0 ? port : rate);
  }
}

void Collectives::describe_sites() {
  const Network& network = _problem->network;
  const std::size_t count = std::max<std::size_t>(1, network.sites.size());
  const network::TrunkSets trunks(network);
  _site_latency = network::Matrix<double>(count);
  _site_rate = network::Matrix<double>(count);
  _has_trunk = network::Matrix<char>(count);
  for (std::size_t a = 0; a < network.sites.size(); ++a)
    for (std::size_t b = 0; b < network.sites.size(); ++b) {
      if (a == b) continue;
      const HostId from = network.sites[a].front(), to = network.sites[b].front();
      const auto at = static_cast<HostId>(a), other = static_cast<HostId>(b);
      _site_latency(at, other) = network.latency(from, to).value();
      _site_rate(at, other) = network.bandwidth(from, to).value();
      double least = std::numeric_limits<double>::infinity();
      for (const std::int32_t trunk : trunks.between(from, to))
        least = std::min(least, network.trunks[index(trunk)].capacity.value());
      if (!std::isfinite(least)) continue;
      _has_trunk(at, other) = 1;
      _site_rate(at, other) = least;
    }
}

double Collectives::change(std::span<const Move> moves, const Placement& placement) {
  if (_communicators.empty()) return 0;
  double change = 0;
  for (const std::size_t at : concerned(moves)) {
    const Communicator& each = _communicators[at];
    change += seconds(each, moved(each, moves, placement), moves, placement) - each.seconds;
  }
  return change;
}

void Collectives::apply(std::span<const Move> moves, const Placement& placement) {
  if (_communicators.empty()) return;
  for (const std::size_t at : concerned(moves)) {
    Communicator& each = _communicators[at];
    each.shares = moved(each, moves, placement);
    const double after = seconds(each, each.shares, moves, placement);
    _total += after - each.seconds;
    each.seconds = after;
  }
}

std::vector<std::size_t> Collectives::concerned(std::span<const Move> moves) const {
  std::vector<std::size_t> all;
  for (const Move& move : moves)
    all.insert(all.end(), _of_rank[index(move.rank)].begin(), _of_rank[index(move.rank)].end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<Collectives::Share> Collectives::moved(const Communicator& communicator,
                                                   std::span<const Move> moves,
                                                   const Placement& placement) const {
  std::vector<Share> shares = communicator.shares;
  const auto add = [&](HostId host, Rank count) {
    const auto at = std::ranges::lower_bound(shares, host, {}, &Share::host);
    if (at == shares.end() || at->host != host)
      shares.insert(at, {host, count});
    else if ((at->count += count) == 0)
      shares.erase(at);
  };
  const std::size_t self = static_cast<std::size_t>(&communicator - _communicators.data());
  for (const Move& move : moves)
    if (std::ranges::find(_of_rank[index(move.rank)], self) != _of_rank[index(move.rank)].end()) {
      add(move.to, 1);
      add(placement[index(move.rank)], -1);
    }
  return shares;
}

double Collectives::latency_inside(std::span<const Share> shares) const {
  double sum = 0;
  if (shares.size() > most_pairs_of_hosts) {
    for (const Share& each : shares)
      sum += _latency[index(each.host)];
    return sum / static_cast<double>(shares.size());
  }
  for (const Share& a : shares)
    for (const Share& b : shares)
      if (a.host != b.host) sum += _problem->network.latency(a.host, b.host).value();
  return sum / static_cast<double>(shares.size() * (shares.size() - 1));
}

double Collectives::seconds(const Communicator& communicator, std::span<const Share> shares,
                            std::span<const Move> moves, const Placement& placement) const {
  if (shares.size() < 2) return 0;
  std::vector<Share> by_site(shares.begin(), shares.end());
  std::ranges::stable_sort(by_site, {},
                           [&](const Share& each) { return _site_of[index(each.host)]; });
  struct Group {
    std::int32_t site;
    double hosts, count, latency, rate;
  };
  std::vector<Group> sites;
  for (std::size_t first = 0, last = 0; first < by_site.size(); first = last) {
    const std::int32_t site = _site_of[index(by_site[first].host)];
    double count = 0;
    for (; last < by_site.size() && _site_of[index(by_site[last].host)] == site; ++last)
      count += by_site[last].count;
    const auto inside = std::span(by_site).subspan(first, last - first);
    const double latency = inside.size() < 2 ? 0 : levels(inside.size()) * latency_inside(inside);
    sites.push_back({site, static_cast<double>(inside.size()), count, latency, 0});
  }
  double inside = 0, between = 0;
  for (Group& a : sites) {
    inside = std::max(inside, a.latency);
    for (const Group& b : sites)
      if (a.site != b.site) {
        between = std::max(between, _site_latency(a.site, b.site));
        const double flows = _has_trunk(a.site, b.site) ? 1 : std::min(a.hosts, b.hosts);
        a.rate = std::max(a.rate, flows * _site_rate(a.site, b.site));
      }
  }
  const double latency = inside + levels(sites.size()) * between;
  const auto ranks = static_cast<double>(communicator.members.size());
  double sum = 0;
  for (const Call& call : communicator.calls) {
    const Rank root = communicator.members[index(call.root)];
    HostId root_host = placement[index(root)];
    for (const Move& move : moves)
      if (move.rank == root) root_host = move.to;
    double slowest = 0;
    for (const Share& each : shares)
      slowest = std::max(slowest, crossing(call, each.count, ranks, each.host == root_host) /
                                      _rate[index(each.host)]);
    for (const Group& each : sites)
      if (sites.size() > 1)
        slowest = std::max(
            slowest,
            crossing(call, each.count, ranks, each.site == _site_of[index(root_host)]) / each.rate);
    const double trips = returns(call.kind) ? 2 : 1;
    if (_problem->metric != Metric::bandwidth) sum += call.count * trips * latency;
    if (_problem->metric != Metric::latency) sum += call.count * trips * slowest;
  }
  return sum;
}

} // namespace thalweg::mapping
