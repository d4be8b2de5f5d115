#include "mapping/mapping.hpp"

#include "mapping/groups.hpp"
#include "mapping/planned.hpp"
#include "mapping/refine.hpp"
#include "mapping/scotch.hpp"
#include "mapping/sites.hpp"
#include "mapping/starts.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace thalweg::mapping {
namespace {

/// Sets of hosts that are tried where not all are needed, if ranks are so many that a start more
/// takes little beside the search.
constexpr std::size_t most_choices = 3;
constexpr Rank least_ranks_for_choices = 512;

struct Candidate {
  Placement placement;
  double cost = 0;
};

class Search {
public:
  Search(const Problem& problem, const MapOptions& options)
      : _problem(problem), _costs(problem), _options(options),
        _moves(options.moves.value_or(usual_moves(problem))) {}

  Placement run() {
    std::vector<Candidate> starts;
    const auto add = [&](Placement placement) {
      const double cost = State(_problem, _costs, placement).total();
      starts.push_back({std::move(placement), cost});
    };
    const std::size_t choices = _problem.ranks() < least_ranks_for_choices ? 1 : most_choices;
    for (const auto& slots : choices_of_hosts(_problem, _costs, choices)) {
      auto found = scotch(_problem, _costs, slots);
      add(found ? std::move(*found) : bisect(_problem, _costs, slots));
    }
    add(block(_problem));
    if (is_possible(_problem.previous)) add(_problem.previous);
    std::ranges::stable_sort(starts, {}, &Candidate::cost);
    // A part of the moves for a first descent from each start, the rest for the best of them.
    const auto count = static_cast<std::int64_t>(starts.size());
    for (Candidate& each : starts)
      each = improved(std::move(each), _moves / (4 * count));
    const Candidate best = *std::ranges::min_element(starts, {}, &Candidate::cost);
    starts.push_back(improved(best, _moves / 4 * 3));
    return chosen(std::move(starts));
  }

private:
  /// Returns the one of least cost, with its collectives planned if that is asked for.
  [[nodiscard]] Placement chosen(std::vector<Candidate> found) const {
    std::ranges::stable_sort(found, {}, &Candidate::cost);
    const auto same = [](const Candidate& a, const Candidate& b) {
      return a.placement == b.placement;
    };
    found.erase(std::unique(found.begin(), found.end(), same), found.end());
    found.resize(std::clamp<std::size_t>(_options.finalists, 1, found.size()));
    if (found.size() == 1 || _problem.calls.empty()) return std::move(found.front().placement);
    std::vector<Placement> finalists;
    for (Candidate& each : found)
      finalists.push_back(std::move(each.placement));
    return finalists[best_planned(_problem, finalists)];
  }

  /// Whether the ranks can stay where they were.
  [[nodiscard]] bool is_possible(const Placement& placement) const {
    std::vector<std::int32_t> left = _problem.slots;
    for (Rank rank = 0; rank < static_cast<Rank>(placement.size()); ++rank) {
      const HostId host = placement[index(rank)], pinned = _problem.pinned_to(rank);
      if (--left[index(host)] < 0 || (pinned != no_host && pinned != host)) return false;
    }
    return !placement.empty();
  }

  Candidate improved(Candidate candidate, std::int64_t moves) const {
    candidate.placement =
        exchange_groups(_problem, _costs, candidate.placement, {_options.seed, moves / 4});
    Placement refined =
        refine(_problem, _costs, candidate.placement, {_options.seed, moves - moves / 4});
    const double cost = State(_problem, _costs, refined).total();
    if (cost < candidate.cost) candidate = {std::move(refined), cost};
    return candidate;
  }

  const Problem& _problem;
  HostCosts _costs;
  const MapOptions& _options;
  std::int64_t _moves;
};

/// Searches, for each site by itself if the network has very many hosts.
Placement searched(const Problem& problem, const MapOptions& options) {
  const auto search = [&](const Problem& each) { return Search(each, options).run(); };
  if (std::cmp_greater(problem.network.size(), options.hosts_at_once))
    if (std::optional<Placement> found = by_sites(problem, search)) {
      Placement usual = block(problem);
      const bool pays = cost(problem, *found).total() < cost(problem, usual).total();
      return pays ? std::move(*found) : std::move(usual);
    }
  return search(problem);
}

/// Minimises traffic between hosts on a network where all hosts are equally far from each other.
Placement intra_only(const Problem& problem, const MapOptions& options) {
  Network even = network::even_network(problem.network.size(), Time(1e-5), units::Rate(1e9));
  for (network::Host& host : even.hosts)
    host.egress = host.ingress = units::Rate::infinity();
  Problem blind{even, problem.communication, problem.slots};
  blind.metric = problem.metric;
  blind.pinned = problem.pinned;
  return shuffle_groups(problem, Search(blind, options).run(), options.seed);
}

Placement by_scotch(const Problem& problem) {
  const HostCosts costs(problem);
  auto found = scotch(problem, costs, choices_of_hosts(problem, costs, 1).front());
  if (!found)
    throw std::invalid_argument(has_scotch()
                                    ? "Scotch can't map this: the ranks exchange no messages, or "
                                      "its library refuses"
                                    : "this build has no Scotch: install libscotch-dev and build "
                                      "again, or use another method");
  return std::move(*found);
}

} // namespace

std::int64_t usual_moves(const Problem& problem) {
  const std::int64_t ranks = problem.ranks();
  return ranks <= 256 ? 2500 + 32 * ranks : std::min<std::int64_t>(200 * ranks, 400'000);
}

Placement place(const Problem& problem, const MapOptions& options) {
  validate(problem);
  switch (options.method) {
  case Method::thalweg:
    return searched(problem, options);
  case Method::block:
    return block(problem);
  case Method::interleave:
    return interleave(problem);
  case Method::random:
    return random(problem, options.seed);
  case Method::intra_only:
    return intra_only(problem, options);
  case Method::inter_only:
    return exchange_groups(problem, HostCosts(problem), block(problem),
                           {options.seed, options.moves.value_or(usual_moves(problem))});
  case Method::scotch:
    return by_scotch(problem);
  }
  return {};
}

} // namespace thalweg::mapping
