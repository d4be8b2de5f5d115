#include "mapping/groups.hpp"

#include "algorithms/algorithm.hpp"
#include "mapping/starts.hpp"
#include "units/index.hpp"
#include "units/mix.hpp"

#include <iterator>
#include <map>
#include <utility>

namespace thalweg::mapping {
namespace {

/// The share of a cost that an exchange has to save: less is rounding.
constexpr double least_saving = 1e-9;

/// Returns the hosts that may exchange their ranks, by slots.
std::map<std::int32_t, std::vector<HostId>> exchangeable(const Problem& problem) {
  std::vector<char> holds(problem.slots.size());
  for (Rank rank = 0; rank < problem.ranks(); ++rank)
    if (const HostId host = problem.pinned_to(rank); host != no_host) holds[index(host)] = 1;
  std::map<std::int32_t, std::vector<HostId>> classes;
  for (HostId host = 0; host < problem.network.size(); ++host)
    if (problem.slots[index(host)] > 0 && !holds[index(host)])
      classes[problem.slots[index(host)]].push_back(host);
  return classes;
}

/// Returns the placement after the ranks of each host have gone to another one.
Placement sent(const Placement& start, const Placement& host_of_group) {
  Placement result;
  for (const HostId host : start)
    result.push_back(host_of_group[index(host)]);
  return result;
}

Placement identity(std::size_t hosts) {
  Placement all(hosts);
  for (std::size_t host = 0; host < hosts; ++host)
    all[host] = static_cast<HostId>(host);
  return all;
}

/// Lets place(groups, host_of_group, classes) put the groups of each class of hosts anew, while the
/// others hold theirs; `groups` is the problem whose ranks are the groups. Returns the start unless
/// the result costs less.
template <class Place>
Placement with_groups(const Problem& problem, const HostCosts& costs, const Placement& start,
                      Place place) {
  const std::size_t hosts = problem.slots.size();
  if (hosts > index(algorithms::most_ranks)) return start;
  Placement host_of_group = identity(hosts);
  Problem groups{problem.network, problem.communication.between(start, static_cast<Rank>(hosts)),
                 std::vector<std::int32_t>(hosts, 1)};
  groups.metric = problem.metric;
  groups.group_size =
      problem.group_size * static_cast<double>(problem.ranks()) / static_cast<double>(hosts);
  const auto classes = exchangeable(problem);
  for (const auto& [slots, members] : classes) {
    groups.pinned = host_of_group;
    for (const HostId group : members)
      groups.pinned[index(group)] = no_host;
    host_of_group = place(groups, host_of_group, classes.size());
  }
  Placement result = sent(start, host_of_group);
  const auto total = [&](const Placement& placement) {
    return State(problem, costs, placement).total();
  };
  return total(result) < total(start) ? result : start;
}

} // namespace

Placement exchange_groups(const Problem& problem, const HostCosts& costs, const Placement& start,
                          const RefineOptions& options) {
  return with_groups(problem, costs, start,
                     [&](const Problem& groups, const Placement& from, std::size_t classes) {
                       RefineOptions part = options;
                       part.moves /= static_cast<std::int64_t>(classes);
                       return refine(groups, costs, from, part);
                     });
}

Placement bisect_groups(const Problem& problem, const HostCosts& costs, const Placement& start) {
  return with_groups(problem, costs, start,
                     [&](const Problem& groups, const Placement& /*from*/, std::size_t) {
                       return bisect(groups, costs, groups.slots);
                     });
}

Placement swap_groups(const Problem& problem, const HostCosts& costs, const Placement& start,
                      std::int64_t moves) {
  State state(problem, costs, start);
  std::vector<std::vector<Rank>> ranks_on(problem.slots.size());
  for (Rank rank = 0; rank < problem.ranks(); ++rank)
    ranks_on[index(start[index(rank)])].push_back(rank);
  const auto swap = [&](HostId a, HostId b) {
    std::vector<Move> swapped;
    for (const Rank rank : ranks_on[index(a)])
      swapped.push_back({rank, b});
    for (const Rank rank : ranks_on[index(b)])
      swapped.push_back({rank, a});
    moves -= static_cast<std::int64_t>(swapped.size() + state.effort(swapped));
    const bool is_better =
        !swapped.empty() && state.change(swapped) < -least_saving * state.total();
    if (!is_better) return false;
    state.apply(swapped);
    std::swap(ranks_on[index(a)], ranks_on[index(b)]);
    return true;
  };
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (const auto& [slots, members] : exchangeable(problem))
      for (std::size_t b = 1; b < members.size(); ++b)
        for (std::size_t a = 0; a < b && moves > 0; ++a)
          has_changed = swap(members[a], members[b]) || has_changed;
  }
  state.recompute();
  return state.total() < State(problem, costs, start).total() ? state.placement() : start;
}

Placement shuffle_groups(const Problem& problem, const Placement& start, std::uint64_t seed) {
  Placement host_of_group = identity(problem.slots.size());
  for (const auto& [slots, members] : exchangeable(problem))
    for (std::size_t left = members.size(); left > 1; --left) {
      seed += mix_step;
      std::swap(host_of_group[index(members[left - 1])],
                host_of_group[index(members[mix(seed) % left])]);
    }
  return sent(start, host_of_group);
}

} // namespace thalweg::mapping
