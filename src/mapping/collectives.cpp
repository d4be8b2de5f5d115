#include "mapping/collectives.hpp"

#include "mapping/state.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace thalweg::mapping {
namespace {

using collective::Kind;

/// Returns the bytes that must leave a group of ranks, and enter it.
/// @param inside ranks of the group, of `ranks`
Crossing crossing(const Call& call, double inside, double ranks, bool has_root) {
  const auto size = static_cast<double>(call.size);
  const double outside = ranks - inside;
  switch (call.kind) {
  case Kind::bcast:
    return has_root ? Crossing{size, 0} : Crossing{0, size};
  case Kind::reduce:
    return has_root ? Crossing{0, size} : Crossing{size, 0};
  case Kind::allreduce:
  case Kind::scan:
  case Kind::exscan:
    return {size, size};
  case Kind::gather:
    return has_root ? Crossing{0, size * outside} : Crossing{size * inside, 0};
  case Kind::scatter:
    return has_root ? Crossing{size * outside, 0} : Crossing{0, size * inside};
  case Kind::allgather:
    return {size * inside, size * outside};
  case Kind::reduce_scatter:
    return {size * outside, size * inside};
  case Kind::alltoall:
    return {size * inside * outside, size * inside * outside};
  case Kind::barrier:
    return {};
  }
  return {};
}

/// How often a latency passes from end to end: a barrier is over when all know that all came.
double latencies(Kind kind) { return kind == Kind::barrier ? 2 : 1; }

/// How often the bytes pass: what is combined in parts comes back.
double passes(Kind kind) { return kind == Kind::allreduce ? 2 : 1; }

/// Whether ranks combine what those before them in the order have.
bool is_ordered(Kind kind) { return kind == Kind::scan || kind == Kind::exscan; }

double levels(std::size_t groups) {
  return groups < 2 ? 0 : static_cast<double>(std::bit_width(groups - 1));
}

/// How long the best tree takes for a small message: flat where its latency is long beside what a
/// message costs its ends, binary where it is short. After Karp and others: Optimal Broadcast and
/// Summation in the LogP Model.
double tree_latency(std::size_t groups, double latency, double message_cost) {
  if (groups < 2) return 0;
  const double once = latency + message_cost;
  if (message_cost <= 0 || latency <= 0) return once * (latency > 0 ? 1 : levels(groups));
  return once * std::max(1.0, std::log2(groups) / std::log2(2 + latency / message_cost));
}

double seconds_for(const Crossing& bytes, const Crossing& rate) {
  return std::max(bytes.out / rate.out, bytes.in / rate.in);
}

/// The most hosts of a site of which all pairs count; with more of them each host's mean does.
constexpr std::size_t most_pairs_of_hosts = 16;

} // namespace

Collectives::Collectives(const Problem& problem, const Placement& placement)
    : Collectives(problem, placement, tables_for(problem)) {}

Collectives::Collectives(const Problem& problem, const Placement& placement,
                         std::shared_ptr<const SiteTables> tables)
    : _problem(&problem), _tables(std::move(tables)) {
  if (problem.calls.empty()) return;
  assert(_tables);
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

double Collectives::change(std::span<const Move> moves, const Placement& placement) {
  if (_communicators.empty()) return 0;
  double change = 0;
  for (const std::size_t at : concerned(moves)) {
    const Communicator& each = _communicators[at];
    const std::vector<Share> shares = moved(each, moves, placement);
    if (stays(each, shares, moves)) continue;
    change += seconds(each, shares, moves, placement) - each.seconds;
  }
  return change;
}

void Collectives::apply(std::span<const Move> moves, const Placement& placement) {
  if (_communicators.empty()) return;
  for (const std::size_t at : concerned(moves)) {
    Communicator& each = _communicators[at];
    std::vector<Share> shares = moved(each, moves, placement);
    if (stays(each, shares, moves)) continue;
    each.shares = std::move(shares);
    const double after = seconds(each, each.shares, moves, placement);
    _total += after - each.seconds;
    each.seconds = after;
  }
}

bool Collectives::stays(const Communicator& communicator, std::span<const Share> shares,
                        std::span<const Move> moves) {
  if (!std::ranges::equal(shares, communicator.shares)) return false;
  return std::ranges::none_of(communicator.calls, [&](const Call& call) {
    return std::ranges::count(moves, communicator.members[index(call.root)], &Move::rank) > 0;
  });
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
      sum += _tables->latency[index(each.host)];
    return sum / static_cast<double>(shares.size());
  }
  for (const Share& a : shares)
    for (const Share& b : shares)
      if (a.host != b.host) sum += _problem->network.latency(a.host, b.host).value();
  return sum / static_cast<double>(shares.size() * (shares.size() - 1));
}

std::vector<Collectives::SiteShare> Collectives::sites_of(std::span<const Share> shares) const {
  std::vector<Share> by_site(shares.begin(), shares.end());
  std::ranges::stable_sort(by_site, {},
                           [&](const Share& each) { return _tables->site_of[index(each.host)]; });
  std::vector<SiteShare> sites;
  for (std::size_t first = 0, last = 0; first < by_site.size(); first = last) {
    const std::int32_t site = _tables->site_of[index(by_site[first].host)];
    double ranks = 0;
    for (; last < by_site.size() && _tables->site_of[index(by_site[last].host)] == site; ++last)
      ranks += by_site[last].count;
    const auto inside = std::span(by_site).subspan(first, last - first);
    const double latency = inside.size() < 2 ? 0 : latency_inside(inside);
    sites.push_back({site, static_cast<double>(inside.size()), ranks, latency});
  }
  for (SiteShare& a : sites)
    for (const SiteShare& b : sites) {
      if (a.site == b.site) continue;
      const auto rate = [&](std::int32_t from, std::int32_t to) {
        return (_tables->has_trunk(from, to) ? 1 : std::min(a.hosts, b.hosts)) *
               _tables->rate(from, to);
      };
      a.rate = {std::max(a.rate.out, rate(a.site, b.site)),
                std::max(a.rate.in, rate(b.site, a.site))};
    }
  return sites;
}

Collectives::Latencies Collectives::latencies_of(std::span<const SiteShare> sites) const {
  Latencies inside;
  double between = 0;
  for (const SiteShare& a : sites) {
    const auto hosts = static_cast<std::size_t>(a.hosts);
    inside.tree = std::max(inside.tree, tree_latency(hosts, a.latency, _tables->message_cost));
    inside.order = std::max(inside.order, levels(hosts) * (a.latency + _tables->message_cost));
    for (const SiteShare& b : sites)
      if (a.site != b.site) between = std::max(between, _tables->between(a.site, b.site));
  }
  return {inside.tree + tree_latency(sites.size(), between, _tables->message_cost),
          inside.order + levels(sites.size()) * (between + _tables->message_cost)};
}

double Collectives::slowest(const Call& call, double ranks, HostId root_host,
                            std::span<const Share> shares, std::span<const SiteShare> sites) const {
  double slowest = 0;
  for (const Share& each : shares)
    slowest = std::max(
        slowest,
        seconds_for(crossing(call, each.count, ranks, each.host == root_host),
                    {_tables->out_rate[index(each.host)], _tables->in_rate[index(each.host)]}));
  if (sites.size() < 2) return slowest;
  const std::int32_t root_site = _tables->site_of[index(root_host)];
  for (const SiteShare& each : sites)
    slowest = std::max(
        slowest, seconds_for(crossing(call, each.ranks, ranks, each.site == root_site), each.rate));
  return slowest;
}

double Collectives::seconds(const Communicator& communicator, std::span<const Share> shares,
                            std::span<const Move> moves, const Placement& placement) const {
  if (shares.size() < 2) return 0;
  const std::vector<SiteShare> sites = sites_of(shares);
  const Latencies latency = latencies_of(sites);
  const auto ranks = static_cast<double>(communicator.members.size());
  double sum = 0;
  for (const Call& call : communicator.calls) {
    const Rank root = communicator.members[index(call.root)];
    HostId root_host = placement[index(root)];
    for (const Move& move : moves)
      if (move.rank == root) root_host = move.to;
    const bool ordered = is_ordered(call.kind);
    if (_problem->metric != Metric::bandwidth)
      sum += call.count * latencies(call.kind) * (ordered ? latency.order : latency.tree);
    if (_problem->metric != Metric::latency)
      sum += call.count * (ordered ? levels(shares.size()) : passes(call.kind)) *
             slowest(call, ranks, root_host, shares, sites);
  }
  return sum * ranks / static_cast<double>(_problem->ranks());
}

} // namespace thalweg::mapping
