#include "algorithms/sites/owners.hpp"

#include "algorithms/sites/groups.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <stdexcept>

namespace thalweg::algorithms {
namespace {

/// The weight of a vector that is cut between owners: it divides evenly among up to 16 of them.
constexpr std::int32_t whole_weight = 720720;
/// The most ranks whose owners are matched, and how often each pair of positions is tried.
constexpr Rank most_matched = 128;
constexpr int match_passes = 4;
/// A gain below this fraction is rounding.
constexpr double least_gain = 1e-6;

/// Finds which member of each group takes which share of the data.
class Matching {
public:
  Matching(const Problem& problem, std::vector<std::vector<Rank>>& groups,
           const std::vector<Rank>& owners)
      : _problem(problem), _groups(groups), _owners(owners),
        _reach(index(problem.collective.ranks), 0) {
    for (const std::vector<Rank>& group : groups)
      for (const Rank a : group)
        for (const Rank b : group)
          if (a != b) _reach[index(a)] = std::max(_reach[index(a)], latency(a, b));
  }

  /// Swaps two members if that shortens the longer one of their paths, or the sum of both. Returns
  /// whether it does.
  bool improve(std::size_t group, std::size_t a, std::size_t b) {
    const auto cost = [&] {
      const double first = path(group, a), second = path(group, b);
      return std::pair(std::max(first, second), first + second);
    };
    const auto before = cost();
    std::swap(_groups[group][a], _groups[group][b]);
    const auto after = cost();
    const double limit = before.first * (1 - least_gain);
    if (after.first < limit ||
        (after.first <= before.first && after.second < before.second * (1 - least_gain)))
      return true;
    std::swap(_groups[group][a], _groups[group][b]);
    return false;
  }

private:
  [[nodiscard]] double latency(Rank a, Rank b) const {
    const auto host = [&](Rank rank) { return _problem.placement[index(rank)]; };
    return std::max(_problem.network.latency(host(a), host(b)),
                    _problem.network.latency(host(b), host(a)))
        .value();
  }
  /// Returns the longest path of what a member owns; 0 if it is no owner.
  [[nodiscard]] double path(std::size_t group, std::size_t member) const {
    double longest = 0;
    const auto count = index(_owners[group]);
    if (member >= count) return 0;
    const Rank own = _groups[group][member];
    for (std::size_t other = 0; other < _groups.size(); ++other) {
      if (other == group) continue;
      const auto others = index(_owners[other]);
      // The owners there whose shares overlap with the member's.
      const std::size_t end = ((member + 1) * others + count - 1) / count;
      for (std::size_t at = member * others / count; at < end; ++at) {
        const Rank there = _groups[other][at];
        longest =
            std::max(longest, _reach[index(own)] + latency(own, there) + _reach[index(there)]);
      }
    }
    return longest;
  }

  const Problem& _problem;
  std::vector<std::vector<Rank>>& _groups;
  const std::vector<Rank>& _owners;
  std::vector<double> _reach; ///< by rank: the latency to the farthest member of its group
};

/// @param movable how many members of each group may be owners
void match_owners(const Problem& problem, std::vector<std::vector<Rank>>& groups,
                  const std::vector<Rank>& owners, const std::vector<Rank>& movable) {
  const bool alone = std::set(problem.placement.begin(), problem.placement.end()).size() ==
                     problem.placement.size();
  if (!alone || problem.collective.ranks > most_matched) return;
  Matching matching(problem, groups, owners);
  bool changed = true;
  for (int pass = 0; pass < match_passes && changed; ++pass) {
    changed = false;
    for (std::size_t group = 0; group < groups.size(); ++group) {
      const bool has_root = collective::is_rooted(problem.collective.kind) &&
                            groups[group].front() == problem.collective.root;
      for (std::size_t b = 0; b < index(movable[group]); ++b)
        for (std::size_t a = has_root ? 1 : 0; a < std::min(b, index(owners[group])); ++a)
          changed |= matching.improve(group, a, b);
    }
  }
}

} // namespace

GroupOwners::GroupOwners(collective::Kind kind, const Skeleton& skeleton)
    : _skeleton(skeleton),
      _parts(static_cast<Rank>(skeleton.chunks /
                               Collective{.kind = kind, .ranks = skeleton.ranks}.blocks())) {
  std::int64_t stride = 1;
  for (std::size_t group = 0; group < groups(); ++group) {
    if (stride * owners(group) > _parts) stride = 1;
    _strides.push_back(static_cast<Rank>(stride));
    stride *= owners(group);
    Rank lowest = rank(group, 0);
    for (Rank member = 1; member < members(group); ++member)
      lowest = std::min(lowest, rank(group, member));
    _lowest.push_back(lowest);
  }
  for (const std::int32_t weight : skeleton.weights)
    _begins.push_back(_begins.back() + weight);
  for (const Rank lowest : _lowest)
    _place.push_back(static_cast<schedule::Step>(
        std::ranges::count_if(_lowest, [&](Rank each) { return each < lowest; })));
  deal_out();
}

void GroupOwners::deal_out() {
  for (std::size_t group = 0; group < groups(); ++group) {
    std::vector<Chunks>& owned = _owned.emplace_back(index(owners(group)));
    for (Rank part = 0; part < _parts; ++part)
      owned[index(owner_of(group, part))].push_back(part);
  }
}

Rank GroupOwners::members(std::size_t group) const {
  const Rank end = group + 1 < groups() ? _skeleton.site_begins[group + 1] : Rank{_skeleton.ranks};
  return end - _skeleton.site_begins[group];
}

Rank GroupOwners::rank(std::size_t group, Rank member) const {
  return _skeleton.order[index(_skeleton.site_begins[group] + member)];
}

Rank GroupOwners::owners(std::size_t group) const {
  return std::min(members(group), _skeleton.senders[group]);
}

Rank GroupOwners::owner_of(std::size_t group, Rank part) const {
  if (_begins.size() == 1) return part / _strides[group] % owners(group);
  const std::int64_t count = owners(group); // The last owner whose share begins by the part.
  return static_cast<Rank>(
      std::min(count - 1, (count * _begins[index(part)] + count - 1) / _begins.back()));
}

GroupOwners::Chunks GroupOwners::shared(std::size_t a, Rank owner_a, std::size_t b,
                                        Rank owner_b) const {
  Chunks chunks = owned(a, owner_a);
  std::erase_if(chunks,
                [&](ChunkId part) { return owner_of(b, static_cast<Rank>(part)) != owner_b; });
  return chunks;
}

void add_groups(const Problem& problem, Rank most_owners, std::vector<std::vector<Rank>>& groups,
                Skeleton& skeleton) {
  std::vector<Rank> fast;
  for (std::vector<Rank>& group : groups) {
    fast.push_back(sort_by_suitability(problem, group));
    const bool limited = most_owners > 0 && most_owners < fast.back();
    skeleton.senders.push_back(limited ? most_owners : fast.back());
  }
  match_owners(problem, groups, skeleton.senders, fast);
  for (const std::vector<Rank>& group : groups) {
    skeleton.site_begins.push_back(static_cast<Rank>(skeleton.order.size()));
    skeleton.order.insert(skeleton.order.end(), group.begin(), group.end());
  }
}

/// Returns the weights of the pieces of a vector between which the shares of each group's owners
/// end: two owners of different groups have about the same share, or none in common.
std::vector<std::int32_t> weights_of_shares(const std::vector<Rank>& owners) {
  std::set<std::int32_t> ends;
  for (const Rank count : owners)
    for (std::int64_t owner = 1; owner <= count; ++owner)
      ends.insert(static_cast<std::int32_t>(whole_weight * owner / count));
  std::vector<std::int32_t> weights;
  for (std::int32_t begin = 0; const std::int32_t end : ends) {
    weights.push_back(end - begin);
    begin = end;
  }
  return weights;
}

schedule::Step gap_of_crossing(const Problem& problem, const std::vector<std::vector<Rank>>& groups,
                               const Skeleton& skeleton, double times) {
  constexpr schedule::Step most = 100'000;
  const schedule::Step segments =
      std::min(most, skeleton.pipeline(problem.collective.size).segments);
  if (segments < 2) return 0;
  const auto host = [&](Rank rank) { return problem.placement[index(rank)]; };
  double longest = 0, fastest = 0;
  for (const std::vector<Rank>& group : groups) {
    const network::HostId own = host(group.front());
    units::Rate flows; // Ports that weren't measured count as unlimited.
    for (const std::vector<Rank>& other : groups) {
      if (&other == &group) continue;
      longest = std::max(longest, problem.network.latency(own, host(other.front())).value());
      flows += problem.network.bandwidth(own, host(other.front()));
    }
    const network::Host& port = problem.network.hosts[index(own)];
    fastest = std::max(fastest, std::min({port.egress, port.ingress, flows}).value());
  }
  const double needed =
      std::ceil(times * longest * fastest / static_cast<double>(skeleton.segment_size));
  if (!std::isfinite(needed)) return 0;
  return needed < segments ? static_cast<schedule::Step>(needed) : segments;
}

void check_groups(const Skeleton& skeleton) {
  check_order(skeleton);
  const std::vector<Rank>& begins = skeleton.site_begins;
  const auto is_count = [&](Rank count) { return count >= 1 && count <= skeleton.ranks; };
  if (begins.empty() || begins.front() != 0 || begins.back() >= skeleton.ranks ||
      std::ranges::adjacent_find(begins, std::greater_equal<>()) != begins.end() ||
      skeleton.senders.size() != begins.size() || !std::ranges::all_of(skeleton.senders, is_count))
    throw std::invalid_argument("a skeleton is damaged: its groups aren't whole");
  const std::vector<std::int32_t>& weights = skeleton.weights;
  if (!weights.empty() && (weights.size() != index(skeleton.chunks) ||
                           std::ranges::all_of(weights, [](auto each) { return each == 0; })))
    throw std::invalid_argument("a skeleton is damaged: its shares have no weights");
}

} // namespace thalweg::algorithms
