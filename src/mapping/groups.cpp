#include "mapping/groups.hpp"

#include "algorithms/algorithm.hpp"
#include "mapping/scotch.hpp"
#include "mapping/starts.hpp"
#include "units/index.hpp"
#include "units/mix.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

namespace thalweg::mapping {
namespace {

/// The share of a cost that an exchange has to save: less is rounding.
constexpr double least_saving = 1e-9;

/// Returns, by host, whether a rank is pinned to it.
std::vector<char> with_pins(const Problem& problem) {
  std::vector<char> holds(problem.slots.size());
  for (Rank rank = 0; rank < problem.ranks(); ++rank)
    if (const HostId host = problem.pinned_to(rank); host != no_host) holds[index(host)] = 1;
  return holds;
}

/// Returns the hosts that may exchange their ranks, by slots.
std::map<std::int32_t, std::vector<HostId>> exchangeable(const Problem& problem) {
  const std::vector<char> holds = with_pins(problem);
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
/// others hold theirs; `groups` is the problem whose ranks are the groups.
template <class Place>
Placement with_groups_anew(const Problem& problem, const Placement& start, Place place) {
  const std::size_t hosts = problem.slots.size();
  if (hosts > index(algorithms::most_ranks)) return start;
  Placement host_of_group = identity(hosts);
  Problem groups{problem.network, problem.communication.between(start, static_cast<Rank>(hosts)),
                 std::vector<std::int32_t>(hosts, 1)};
  groups.metric = problem.metric;
  groups.group_size =
      problem.group_size * static_cast<double>(problem.ranks()) / static_cast<double>(hosts);
  auto classes = exchangeable(problem);
  std::erase_if(classes, [](const auto& each) { return each.second.size() < 2; });
  for (const auto& [slots, members] : classes) {
    groups.pinned = host_of_group;
    for (const HostId group : members)
      groups.pinned[index(group)] = no_host;
    host_of_group = place(groups, host_of_group, classes.size());
  }
  return sent(start, host_of_group);
}

/// Does the same. Returns the start unless the result costs less.
template <class Place>
Placement with_groups(const Problem& problem, const HostCosts& costs, const Placement& start,
                      Place place) {
  Placement result = with_groups_anew(problem, start, place);
  if (result == start) return start;
  const auto total = [&](const Placement& placement) {
    return State(problem, costs, placement).total();
  };
  return total(result) < total(start) ? result : start;
}

/// Returns what looking at a change of whole hosts takes, in cells (cells_of_a_move).
std::size_t cells_of(const Problem& problem, const State& state, const std::vector<Move>& moved) {
  std::size_t exchanges = 0;
  for (const Move& move : moved)
    exchanges += problem.communication.exchanges(move.rank);
  return (moved.size() + state.effort(moved)) * cells_of_a_move + exchanges * cells_of_a_peer;
}

/// Returns the hosts in the order in which they are filled; those without ranks come last. Pinned
/// ranks don't fill hosts: they are there before.
std::vector<HostId> filling_order(const Problem& problem, const Placement& placement) {
  std::vector<HostId> order;
  std::vector<char> is_listed(problem.slots.size());
  const auto list = [&](HostId host) {
    if (is_listed[index(host)] != 0) return;
    is_listed[index(host)] = 1;
    order.push_back(host);
  };
  for (Rank rank = 0; rank < problem.ranks(); ++rank)
    if (problem.pinned_to(rank) == no_host) list(placement[index(rank)]);
  for (const HostId host : problem.in_order())
    list(host);
  return order;
}

/// Tries one order of the hosts after another, and stays with what costs less.
class Reordering {
public:
  Reordering(const Problem& problem, const HostCosts& costs, const Placement& start,
             std::int64_t moves)
      : _problem(problem), _state(problem, costs, start), _moves(moves),
        _order(filling_order(problem, start)) {
    const std::vector<char> holds = with_pins(problem);
    for (std::size_t place = 0; place < _order.size(); ++place)
      if (holds[index(_order[place])] == 0) {
        _places.push_back(place);
        _hosts.push_back(_order[place]);
      }
    _used = used();
  }

  Placement run() {
    const double orders = std::tgamma(static_cast<double>(_hosts.size()) + 1);
    if (orders * most_moves_of_an_order() <= static_cast<double>(_moves))
      try_all();
    else
      while (change_places()) {
      }
    return _state.placement();
  }

private:
  /// Returns what an order takes that moves all ranks.
  [[nodiscard]] double most_moves_of_an_order() const {
    std::vector<Move> all;
    for (Rank rank = 0; rank < _problem.ranks(); ++rank)
      all.push_back({rank, _state.host(rank)});
    return static_cast<double>(moves_of_an_order(all));
  }

  /// Returns what it takes to fill the hosts in another order, and to look at the ranks that this
  /// moves.
  [[nodiscard]] std::int64_t moves_of_an_order(const std::vector<Move>& moved) const {
    const std::size_t filled = _order.size() + index(_problem.ranks());
    const std::size_t cells = filled + cells_of(_problem, _state, moved);
    return static_cast<std::int64_t>(1 + cells / cells_of_a_move);
  }

  /// Counts the hosts with ranks among those that may change their places: the first ones.
  [[nodiscard]] std::ptrdiff_t used() const {
    std::vector<char> has_ranks(_problem.slots.size());
    for (const HostId host : _state.placement())
      has_ranks[index(host)] = 1;
    return std::ranges::count_if(_hosts, [&](HostId host) { return has_ranks[index(host)] != 0; });
  }

  void try_all() {
    std::vector<HostId> hosts = _hosts;
    std::ranges::sort(hosts);
    do {
      try_order(hosts);
    } while (_moves > 0 && std::ranges::next_permutation(hosts).found);
  }

  /// Exchanges any two hosts, and lets either take its place beside the other, where that saves.
  /// Two without ranks stay, since that would move nobody. Returns whether anything saved.
  bool change_places() {
    bool has_changed = false;
    const auto changed = [&](auto change) {
      std::vector<HostId> hosts = _hosts;
      change(hosts.begin());
      has_changed = try_order(hosts) || has_changed;
    };
    for (std::ptrdiff_t b = 1; b < std::ssize(_hosts); ++b)
      for (std::ptrdiff_t a = 0; a < std::min(b, _used) && _moves > 0; ++a) {
        changed([&](auto first) { std::swap(first[a], first[b]); });
        if (b == a + 1) continue;
        changed([&](auto first) { std::rotate(first + a, first + a + 1, first + b + 1); });
        changed([&](auto first) { std::rotate(first + a, first + b, first + b + 1); });
      }
    return has_changed;
  }

  /// Fills the hosts that may change their places in this order, if that costs less. Returns
  /// whether it does.
  bool try_order(const std::vector<HostId>& hosts) {
    for (std::size_t at = 0; at < hosts.size(); ++at)
      _order[_places[at]] = hosts[at];
    const Placement filled = block(_problem, _order);
    std::vector<Move> moved;
    for (Rank rank = 0; rank < _problem.ranks(); ++rank)
      if (const HostId to = filled[index(rank)]; to != _state.host(rank))
        moved.push_back({rank, to});
    _moves -= moves_of_an_order(moved);
    const bool is_better = !moved.empty() && _state.change(moved) < -least_saving * _state.total();
    if (!is_better) return false;
    _state.apply(moved);
    _hosts = hosts;
    _used = used();
    return true;
  }

  const Problem& _problem;
  State _state;
  std::int64_t _moves;
  std::vector<HostId> _order;       ///< of all hosts, as it was tried last
  std::vector<std::size_t> _places; ///< in the order, of hosts without pinned ranks
  std::vector<HostId> _hosts;       ///< at these places, in the best order so far
  std::ptrdiff_t _used = 0;         ///< of these, the first ones, that have ranks
};

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

Placement scotch_groups(const Problem& problem, const HostCosts& costs, const Placement& start) {
  return with_groups_anew(problem, start,
                          [&](const Problem& groups, const Placement& from, std::size_t) {
                            return scotch(groups, costs, groups.slots).value_or(from);
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
    if (swapped.empty()) return false;
    moves -= static_cast<std::int64_t>(1 + cells_of(problem, state, swapped) / cells_of_a_move);
    if (!(state.change(swapped) < -least_saving * state.total())) return false;
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

Placement reorder_groups(const Problem& problem, const HostCosts& costs, const Placement& start,
                         std::int64_t moves) {
  if (exchangeable(problem).size() < 2) return start;
  Placement found = Reordering(problem, costs, start, moves).run();
  const auto total = [&](const Placement& placement) {
    return State(problem, costs, placement).total();
  };
  return total(found) < total(start) ? found : start;
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
