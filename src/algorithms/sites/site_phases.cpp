#include "algorithms/sites/site_phases.hpp"

#include "algorithms/order.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>

namespace thalweg::algorithms {
namespace {

using collective::no_rank;
using schedule::How;
using schedule::Range;
using schedule::Step;

/// Chunks per member of the largest site: the parts of other sites' members, and of the senders,
/// are equal to within one chunk.
constexpr ChunkId chunks_per_member = 16;

/// Returns the ranks by site, in the order given, the site of `first` first.
std::vector<std::vector<Rank>> by_site(const Problem& problem, const std::vector<Rank>& order) {
  std::vector<std::size_t> site_of(problem.network.hosts.size(), 0);
  for (std::size_t site = 0; site < problem.network.sites.size(); ++site)
    for (const network::HostId host : problem.network.sites[site])
      site_of[index(host)] = site;
  std::vector<std::vector<Rank>> groups;
  std::map<std::size_t, std::size_t> seen; // site -> index in groups
  for (const Rank rank : order) {
    const std::size_t site = site_of[index(problem.placement[index(rank)])];
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

Range overlap(Range a, Range b) {
  const ChunkId first = std::max(a.first, b.first);
  const ChunkId end = std::min(a.first + a.count, b.first + b.count);
  return {first, std::max<ChunkId>(0, end - first), 1};
}

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

SitePhases::SitePhases(const Skeleton& skeleton, Rank only, Sink& sink)
    : _skeleton(skeleton), _only(only), _sink(sink) {}

Rank SitePhases::members(std::size_t site) const {
  const Rank end =
      site + 1 < sites() ? _skeleton.site_begins[site + 1] : static_cast<Rank>(_skeleton.ranks);
  return end - _skeleton.site_begins[site];
}

Rank SitePhases::rank(std::size_t site, Rank member) const {
  return _skeleton.order[index(_skeleton.site_begins[site] + member)];
}

Rank SitePhases::lowest(std::size_t site) const {
  Rank least = rank(site, 0);
  for (Rank member = 1; member < members(site); ++member)
    least = std::min(least, rank(site, member));
  return least;
}

Range SitePhases::part(Range whole, Rank at, Rank count) {
  const auto edge = [&](Rank i) {
    return static_cast<ChunkId>(std::int64_t{whole.count} * i / count);
  };
  return {whole.first + edge(at), edge(at + 1) - edge(at), 1};
}

Rank SitePhases::owner_of(ChunkId chunk, Rank count) const {
  auto member = static_cast<Rank>(std::int64_t{chunk} * count / _skeleton.chunks);
  while (member + 1 < count && part(all(), member + 1, count).first <= chunk)
    ++member;
  return member;
}

std::vector<bool>& SitePhases::held(Rank rank) {
  if (_held.empty()) _held.resize(index(_skeleton.ranks));
  std::vector<bool>& chunks = _held[index(rank)];
  if (chunks.empty()) chunks.resize(index(_skeleton.chunks));
  return chunks;
}

void SitePhases::hold(Rank rank, Range chunks) {
  std::vector<bool>& own = held(rank);
  for (ChunkId chunk = chunks.first; chunk < chunks.first + chunks.count; ++chunk)
    own[index(chunk)] = true;
}

void SitePhases::send(Rank from, Rank to, Step step, How how, Range what) {
  if (what.count <= 0 || from == to) return;
  std::vector<Range> missing;
  if (_held.empty()) {
    missing = {what};
  } else {
    const std::vector<bool>& there = held(to);
    for (ChunkId chunk = what.first; chunk < what.first + what.count; ++chunk) {
      if (there[index(chunk)]) continue;
      if (!missing.empty() && missing.back().first + missing.back().count == chunk)
        ++missing.back().count;
      else
        missing.push_back({chunk, 1, 1});
    }
    hold(to, what);
  }
  if (!missing.empty() && (_only == no_rank || from == _only || to == _only))
    _sink.add(from, to, step, how, missing);
}

Rank SitePhases::member_of(std::size_t site, Rank owner) const {
  return static_cast<Rank>(std::int64_t{members(site)} * owner / owners(site));
}

Range SitePhases::owned(std::size_t site, Rank owner) const {
  return part(all(), owner, owners(site));
}

template <class Visit>
void SitePhases::for_each_kept(std::size_t site, Visit visit) const {
  for (Rank owner = 0; owner < owners(site); ++owner) {
    const Range kept = owned(site, owner);
    const Rank last = owner_of(kept.first + kept.count - 1, members(site));
    for (Rank member = owner_of(kept.first, members(site)); member <= last; ++member)
      visit(member_of(site, owner), member, overlap(kept, own(site, member)));
  }
}

void SitePhases::hold_owned(std::size_t site, Range chunks) {
  for (Rank owner = 0; owner < owners(site); ++owner)
    hold(rank(site, member_of(site, owner)), overlap(chunks, owned(site, owner)));
}

Step SitePhases::scatter(std::size_t site, Step begin) {
  for (Rank owner = owners(site) - 1; owner > 0; --owner)
    send(rank(site, 0), rank(site, member_of(site, owner)), begin++, How::copy, owned(site, owner));
  return begin;
}

Step SitePhases::gather(std::size_t site, Step begin) {
  for (Rank owner = 1; owner < owners(site); ++owner)
    send(rank(site, member_of(site, owner)), rank(site, 0), begin++, How::copy, owned(site, owner));
  return begin;
}

Step SitePhases::spread(std::size_t site, Step begin) {
  for_each_kept(site, [&](Rank owner, Rank member, Range piece) {
    send(rank(site, owner), rank(site, member), begin, How::copy, piece);
  });
  return begin + 1;
}

Step SitePhases::collect(std::size_t site, Step begin) {
  for_each_kept(site, [&](Rank owner, Rank member, Range piece) {
    send(rank(site, member), rank(site, owner), begin, How::copy, piece);
  });
  return begin + 1;
}

Step SitePhases::allgather(std::size_t site, Step begin) {
  const Rank count = members(site);
  for (Rank member = 0; member < count; ++member) {
    const Rank from = rank(site, (member + count - 1) % count), to = rank(site, member);
    // Chunks that other ranks hold matter to nobody after this last phase.
    if (_only != no_rank && from != _only && to != _only) continue;
    for (Step step = 0; step + 1 < count; ++step)
      send(from, to, begin + step, How::copy, own(site, (member + 2 * count - 1 - step) % count));
  }
  return begin + std::max(0, count - 1);
}

Step SitePhases::reduce_scatter(std::size_t site, Step begin) {
  const Rank count = members(site);
  for (Rank owner = 0; owner < count; ++owner) {
    Rank lowest = rank(site, (owner + 1) % count); // of the contributions to the part so far
    for (Step step = 0; step + 1 < count; ++step) {
      const Rank from = rank(site, (owner + 1 + step) % count);
      const Rank to = rank(site, (owner + 2 + step) % count);
      lowest = std::min(lowest, from);
      if (_only == no_rank || from == _only || to == _only)
        send(from, to, begin + step, combine(lowest, to), own(site, owner));
    }
  }
  return begin + std::max(0, count - 1);
}

Step SitePhases::cross(std::size_t from, std::size_t to, Range chunks, How how, Step begin) {
  const Rank owners_here = owners(from), targets = owners(to);
  const Rank senders = std::min(owners_here, _skeleton.senders[from * sites() + to]);
  const auto owner_rank = [&](Rank owner) { return rank(from, member_of(from, owner)); };
  for (Rank i = 0; i < senders; ++i) {
    const Rank sender = static_cast<Rank>(std::int64_t{owners_here} * i / senders);
    const Range share = part(chunks, i, senders);
    for (Rank owner = 0; owner < owners_here; ++owner) {
      const Range piece = overlap(share, owned(from, owner));
      if (piece.count == 0) continue;
      send(owner_rank(owner), owner_rank(sender), begin, How::copy, piece);
      // The rank's own part first. Each owner's piece has its own step: two may have one target.
      const Step step = begin + (owner == sender ? 0 : 1 + owner);
      const Rank first = owner_of(piece.first, targets);
      const Rank last = owner_of(piece.first + piece.count - 1, targets);
      for (Rank target = first; target <= last; ++target)
        send(owner_rank(sender), rank(to, member_of(to, target)), step, how,
             overlap(piece, owned(to, target)));
    }
  }
  return begin + 1 + owners_here;
}

std::vector<Parameters> SiteAlgorithm::with_early_split(std::vector<Parameters> candidates) {
  for (Parameters parameters : {candidates.front(), candidates.back()}) {
    parameters.split = Split::early;
    candidates.push_back(parameters);
  }
  return candidates;
}

Skeleton SiteAlgorithm::build(const Problem& problem, const Parameters& parameters) const {
  Skeleton skeleton = begin(problem, parameters);
  skeleton.window = window(parameters);
  Parameters understood = parameters;
  if (!may_split_early()) understood.split = Split::whole;
  lay_out_sites(problem, understood, skeleton);
  return skeleton;
}

void SiteAlgorithm::check(const Skeleton& skeleton) const {
  check_lists(skeleton, {"order", "site_begins", "senders"});
  check_order(skeleton);
  const std::vector<Rank>& begins = skeleton.site_begins;
  const auto is_sender_count = [&](Rank senders) {
    return senders >= 1 && senders <= skeleton.ranks;
  };
  if (begins.empty() || begins.front() != 0 || begins.back() >= skeleton.ranks ||
      std::ranges::adjacent_find(begins, std::greater_equal<>()) != begins.end() ||
      skeleton.senders.size() != begins.size() * begins.size() ||
      !std::ranges::all_of(skeleton.senders, is_sender_count) ||
      skeleton.chunks > std::int64_t{chunks_per_member} * skeleton.ranks)
    throw std::invalid_argument("a skeleton is damaged: its sites aren't whole");
}

void SiteAlgorithm::emit(collective::Kind kind, const Skeleton& skeleton, Rank rank,
                         Sink& sink) const {
  SitePhases phases(skeleton, rank, sink);
  add(kind, phases);
  sink.sort();
}

} // namespace thalweg::algorithms
