#include "mapping/collectives.hpp"

#include "mapping/state.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace thalweg::mapping {
namespace {

using collective::Kind;

/// Returns the bytes that must leave a group of ranks, and enter it.
/// @param inside ranks of the group, of `ranks`
Crossing crossing(Kind kind, double size, double inside, double ranks, bool has_root) {
  const double outside = ranks - inside;
  switch (kind) {
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

/// The longest of some times, and the longest of all but one.
class Longest {
public:
  void add(std::int32_t whose, double time) {
    if (time > _first) {
      _second = std::exchange(_first, time);
      _whose = whose;
    } else {
      _second = std::max(_second, time);
    }
  }
  [[nodiscard]] double all() const { return _first; }
  [[nodiscard]] double without(std::int32_t whose) const {
    return whose == _whose ? _second : _first;
  }

private:
  double _first = 0, _second = 0;
  std::int32_t _whose = -1;
};

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
  std::map<std::tuple<std::size_t, Kind, Size>, std::size_t> known_calls;
  _of_rank.resize(index(problem.ranks()));
  for (const Call& call : problem.calls) {
    std::vector<Rank> members = call.members;
    if (members.empty()) {
      members.resize(index(problem.ranks()));
      std::iota(members.begin(), members.end(), 0);
    }
    const auto [found, is_new] = known.try_emplace(members, _communicators.size());
    const std::size_t which = found->second;
    if (is_new) {
      for (const Rank member : members)
        _of_rank[index(member)].push_back(which);
      _communicators.push_back({std::move(members), {}, {}, {}, 0});
    }
    Communicator& communicator = _communicators[which];
    const auto [same, is_first] =
        known_calls.try_emplace({which, call.kind, call.size}, communicator.calls.size());
    if (is_first) communicator.calls.push_back({call.kind, call.size, 0, {}});
    Calls& calls = communicator.calls[same->second];
    calls.count += call.count;
    if (!collective::is_rooted(call.kind)) continue;
    calls.roots.emplace_back(communicator.members[index(call.root)], call.count);
    communicator.roots.push_back(calls.roots.back().first);
  }
  for (Communicator& each : _communicators) {
    std::map<HostId, Rank> counts;
    for (const Rank member : each.members)
      ++counts[placement[index(member)]];
    for (const auto& [host, count] : counts)
      each.shares.push_back({host, count});
    std::ranges::sort(each.roots);
    each.roots.erase(std::unique(each.roots.begin(), each.roots.end()), each.roots.end());
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
  return std::ranges::none_of(moves, [&](const Move& move) {
    return std::ranges::binary_search(communicator.roots, move.rank);
  });
}

std::size_t Collectives::effort(std::span<const Move> moves) const {
  if (_communicators.empty()) return 0;
  std::size_t sum = 0;
  for (const std::size_t at : concerned(moves)) {
    const Communicator& each = _communicators[at];
    sum += each.shares.size() * (each.calls.size() + 1);
    for (const Calls& calls : each.calls)
      sum += calls.roots.size();
  }
  return sum;
}

std::vector<std::size_t> Collectives::concerned(std::span<const Move> moves) const {
  std::vector<std::size_t> all;
  for (const Move& move : moves) {
    const std::vector<std::size_t>& own = _of_rank[index(move.rank)];
    all.insert(all.end(), own.begin(), own.end());
  }
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
    if (std::ranges::binary_search(_of_rank[index(move.rank)], self)) {
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

template <class HostOf>
double Collectives::slowest(const Calls& calls, double ranks, std::span<const Share> shares,
                            std::span<const SiteShare> sites, const HostOf& host_of) const {
  const auto size = static_cast<double>(calls.size);
  const auto of_host = [&](const Share& each, bool has_root) {
    return seconds_for(crossing(calls.kind, size, each.count, ranks, has_root),
                       {_tables->out_rate[index(each.host)], _tables->in_rate[index(each.host)]});
  };
  const auto of_site = [&](const SiteShare& each, bool has_root) {
    return seconds_for(crossing(calls.kind, size, each.ranks, ranks, has_root), each.rate);
  };
  const bool has_sites = sites.size() > 1;
  Longest host, site;
  for (const Share& each : shares)
    host.add(each.host, of_host(each, false));
  for (const SiteShare& each : sites)
    if (has_sites) site.add(each.site, of_site(each, false));
  if (calls.roots.empty()) return calls.count * std::max(host.all(), site.all());
  double sum = 0;
  for (const auto& [root, count] : calls.roots) {
    const HostId here = host_of(root);
    const auto own = std::ranges::lower_bound(shares, here, {}, &Share::host);
    double slowest = std::max(host.without(here), of_host(*own, true));
    if (has_sites) {
      const std::int32_t there = _tables->site_of[index(here)];
      const auto own_site = std::ranges::lower_bound(sites, there, {}, &SiteShare::site);
      slowest = std::max({slowest, site.without(there), of_site(*own_site, true)});
    }
    sum += count * slowest;
  }
  return sum;
}

double Collectives::seconds(const Communicator& communicator, std::span<const Share> shares,
                            std::span<const Move> moves, const Placement& placement) const {
  if (shares.size() < 2) return 0;
  const std::vector<SiteShare> sites = sites_of(shares);
  const Latencies latency = latencies_of(sites);
  const auto ranks = static_cast<double>(communicator.members.size());
  const auto host_of = [&](Rank root) {
    const auto move = std::ranges::find(moves, root, &Move::rank);
    return move != moves.end() ? move->to : placement[index(root)];
  };
  double sum = 0;
  for (const Calls& calls : communicator.calls) {
    const bool ordered = is_ordered(calls.kind);
    if (_problem->metric != Metric::bandwidth)
      sum += calls.count * latencies(calls.kind) * (ordered ? latency.order : latency.tree);
    if (_problem->metric != Metric::latency)
      sum += (ordered ? levels(shares.size()) : passes(calls.kind)) *
             slowest(calls, ranks, shares, sites, host_of);
  }
  return sum * ranks / static_cast<double>(_problem->ranks());
}

} // namespace thalweg::mapping
