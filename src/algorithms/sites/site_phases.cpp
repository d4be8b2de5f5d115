#include "algorithms/sites/site_phases.hpp"

#include "algorithms/segments.hpp"
#include "algorithms/sites/site_paths.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <stdexcept>

namespace thalweg::algorithms {
namespace {

using collective::no_rank;
using schedule::How;
using schedule::Range;
using schedule::Step;

/// Visits [begin, end), then its halves, of which the first is the larger one, and so on down to
/// single numbers, as `visit(begin, middle, end, depth)`; or the smaller ones first.
enum class Visiting : std::uint8_t { whole_first, halves_first };
template <class Visit>
void visit_halves(Visiting how, Rank begin, Rank end, Step depth, const Visit& visit) {
  if (end - begin < 2) return;
  const Rank middle = begin + (end - begin + 1) / 2;
  if (how == Visiting::whole_first) visit(begin, middle, end, depth);
  visit_halves(how, begin, middle, depth + 1, visit);
  visit_halves(how, middle, end, depth + 1, visit);
  if (how == Visiting::halves_first) visit(begin, middle, end, depth);
}
/// Returns how often `count` numbers can be halved.
Step halvings(Rank count) {
  return static_cast<Step>(std::bit_width(static_cast<std::uint32_t>(count - 1)));
}

} // namespace

Range overlap(Range a, Range b) {
  const ChunkId first = std::max(a.first, b.first);
  const ChunkId end = std::min(a.first + a.count, b.first + b.count);
  return {first, std::max<ChunkId>(0, end - first), 1};
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

Range SitePhases::owned(std::size_t site, Rank first, Rank end) const {
  const Range last = owned(site, end - 1);
  const ChunkId begin = owned(site, first).first;
  return {begin, last.first + last.count - begin, 1};
}

Range SitePhases::own(std::size_t site, Rank first, Rank end) const {
  const Range last = own(site, end - 1);
  const ChunkId begin = own(site, first).first;
  return {begin, last.first + last.count - begin, 1};
}

Step SitePhases::scatter(std::size_t site, Step begin) {
  if (recursive()) {
    visit_halves(Visiting::whole_first, 0, owners(site), begin,
                 [&](Rank first, Rank middle, Rank end, Step step) {
                   send(rank(site, member_of(site, first)), rank(site, member_of(site, middle)),
                        step, How::copy, owned(site, middle, end));
                 });
    return begin + halvings(owners(site));
  }
  for (Rank owner = owners(site) - 1; owner > 0; --owner)
    send(rank(site, 0), rank(site, member_of(site, owner)), begin++, How::copy, owned(site, owner));
  return begin;
}

Step SitePhases::gather(std::size_t site, Step begin) {
  if (recursive()) {
    const Step rounds = halvings(owners(site));
    visit_halves(Visiting::halves_first, 0, owners(site), 0,
                 [&](Rank first, Rank middle, Rank end, Step depth) {
                   send(rank(site, member_of(site, middle)), rank(site, member_of(site, first)),
                        begin + rounds - 1 - depth, How::copy, owned(site, middle, end));
                 });
    return begin + rounds;
  }
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
  if (recursive()) return allgather_by_doubling(site, begin);
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

Step SitePhases::allgather_by_doubling(std::size_t site, Step begin) {
  const Step rounds = halvings(members(site));
  visit_halves(Visiting::halves_first, 0, members(site), 0,
               [&](Rank first, Rank middle, Rank end, Step depth) {
                 const Step step = begin + rounds - 1 - depth;
                 const Range left = own(site, first, middle), right = own(site, middle, end);
                 for (Rank at = first; at < middle; ++at) {
                   // One rank more on the left gets its data from the last one on the right.
                   const Rank partner = std::min(at - first + middle, end - 1);
                   send(rank(site, partner), rank(site, at), step, How::copy, right);
                   if (at - first < end - middle)
                     send(rank(site, at), rank(site, partner), step, How::copy, left);
                 }
               });
  return begin + rounds;
}

Step SitePhases::reduce_scatter_by_halving(std::size_t site, Step begin) {
  std::vector<Rank> lowest; // by member: of the contributions to the chunks that it still has
  for (Rank member = 0; member < members(site); ++member)
    lowest.push_back(rank(site, member));
  const auto hand_over = [&](Rank from, Rank to, Step step, Rank of_from, Rank of_to,
                             Range chunks) {
    send(rank(site, from), rank(site, to), step, combine(of_from, of_to), chunks);
  };
  visit_halves(Visiting::whole_first, 0, members(site), 0,
               [&](Rank first, Rank middle, Rank end, Step depth) {
                 const Range left = own(site, first, middle), right = own(site, middle, end);
                 const Step step = begin + 2 * depth;
                 std::vector<Rank> to_right = lowest; // as lowest, for the right half's chunks
                 // One rank more on the left first gives its share to the last one on the right.
                 if (middle - first > end - middle) {
                   const Rank from = middle - 1, to = end - 1;
                   hand_over(from, to, step, lowest[index(from)], lowest[index(to)], right);
                   to_right[index(to)] = std::min(lowest[index(from)], lowest[index(to)]);
                 }
                 for (Rank there = middle; there < end; ++there) {
                   const Rank here = there - middle + first;
                   Rank& of_here = lowest[index(here)];
                   Rank& of_there = lowest[index(there)];
                   const Rank given = to_right[index(here)], kept = to_right[index(there)];
                   hand_over(there, here, step + 1, of_there, of_here, left);
                   hand_over(here, there, step + 1, given, kept, right);
                   of_here = std::min(of_here, of_there);
                   of_there = std::min(given, kept);
                 }
               });
  return begin + 2 * halvings(members(site));
}

Step SitePhases::reduce_scatter(std::size_t site, Step begin) {
  if (recursive()) return reduce_scatter_by_halving(site, begin);
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

std::vector<Parameters> SiteAlgorithm::split_candidates(const Problem& problem) {
  if (problem.network.sites.size() < 2) return {{}};
  std::vector<Parameters> candidates = segmented(problem, problem.collective.ranks);
  Parameters recursive = candidates.front();
  recursive.inside = Inside::recursive;
  for (Parameters parameters : {candidates.front(), candidates.back()}) {
    parameters.split = Split::early;
    candidates.push_back(parameters);
  }
  candidates.push_back(recursive);
  return candidates;
}

Skeleton SiteAlgorithm::build(const Problem& problem, const Parameters& parameters) const {
  Skeleton skeleton = begin(problem, parameters);
  skeleton.window = parameters.inside == Inside::recursive ? one_at_a_time(parameters) // rounds
                                                           : window(parameters);
  skeleton.inside = parameters.inside;
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
