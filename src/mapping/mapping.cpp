#include "mapping/mapping.hpp"

#include "mapping/groups.hpp"
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

/// Sets of hosts that are tried where not all are needed, if ranks are so many that more starts
/// take little beside the search.
constexpr std::size_t most_choices = 3;
constexpr Rank least_ranks_for_choices = 512;
/// Starts that a search goes on from: the best of all.
constexpr std::size_t most_starts = 4;

struct Candidate {
  Placement placement;
  double cost = 0;
};

/// Returns what takes no time to find.
std::vector<Placement> simple(const Problem& problem, std::uint64_t seed) {
  return {block(problem), interleave(problem), random(problem, seed)};
}

class Search {
public:
  Search(const Problem& problem, const MapOptions& options)
      : _problem(problem), _costs(problem), _options(options),
        _moves(options.moves.value_or(usual_moves(problem))) {}

  /// Returns the different placements of least cost, the best first.
  std::vector<Placement> run(std::size_t most) const {
    std::vector<Candidate> found = starts();
    // The best half goes on each time, with as many moves as all together had before.
    for (std::size_t keep = most_starts; keep > 0; keep /= 2) {
      std::ranges::stable_sort(found, {}, &Candidate::cost);
      keep = std::min(keep, found.size());
      const std::int64_t share = _moves / (keep == 1 ? 2 : 4) / static_cast<std::int64_t>(keep);
      for (std::size_t at = 0; at < keep; ++at)
        found[at] = improved(std::move(found[at]), share);
    }
    std::ranges::stable_sort(found, {}, &Candidate::cost);
    std::vector<Placement> placements;
    for (Candidate& each : found)
      if (placements.size() < most &&
          std::ranges::find(placements, each.placement) == placements.end())
        placements.push_back(std::move(each.placement));
    return placements;
  }

private:
  [[nodiscard]] std::vector<Candidate> starts() const {
    std::vector<Candidate> starts;
    const auto add = [&](Placement placement) {
      const double cost = State(_problem, _costs, placement).total();
      starts.push_back({std::move(placement), cost});
    };
    const std::size_t choices = _problem.ranks() < least_ranks_for_choices ? 1 : most_choices;
    for (const auto& slots : choices_of_hosts(_problem, _costs, choices)) {
      if (auto found = scotch(_problem, _costs, slots)) add(std::move(*found));
      add(bisect(_problem, _costs, slots));
      add(join(_problem, _costs, slots));
    }
    for (Placement& each : simple(_problem, _options.seed))
      add(std::move(each));
    if (is_possible(_problem.previous)) add(_problem.previous);
    return starts;
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
std::vector<Placement> searched(const Problem& problem, const MapOptions& options,
                                std::size_t most) {
  const auto search = [&](const Problem& each) { return Search(each, options).run(1).front(); };
  if (std::cmp_greater(problem.network.size(), options.hosts_at_once))
    if (std::optional<Placement> found = by_sites(problem, search)) {
      std::vector<Placement> all = simple(problem, options.seed);
      all.push_back(std::move(*found));
      return {*std::ranges::min_element(
          all, {}, [&](const Placement& each) { return cost(problem, each).total(); })};
    }
  return Search(problem, options).run(most);
}

/// Minimises traffic between hosts on a network where all hosts are equally far from each other.
Placement intra_only(const Problem& problem, const MapOptions& options) {
  Network even = network::even_network(problem.network.size(), Time(1e-5), units::Rate(1e9));
  for (network::Host& host : even.hosts)
    host.egress = host.ingress = units::Rate::infinity();
  Problem blind{even, problem.communication, problem.slots};
  blind.metric = problem.metric;
  blind.pinned = problem.pinned;
  return shuffle_groups(problem, Search(blind, options).run(1).front(), options.seed);
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
  return ranks <= 256 ? 2000 + 56 * ranks : std::min<std::int64_t>(400 * ranks, 600'000);
}

Placement place(const Problem& problem, const MapOptions& options) {
  return finalists(problem, options, 1).front();
}

std::vector<Placement> finalists(const Problem& problem, const MapOptions& options,
                                 std::size_t most) {
  validate(problem);
  switch (options.method) {
  case Method::thalweg:
    return searched(problem, options, std::max<std::size_t>(1, most));
  case Method::block:
    return {block(problem)};
  case Method::interleave:
    return {interleave(problem)};
  case Method::random:
    return {random(problem, options.seed)};
  case Method::intra_only:
    return {intra_only(problem, options)};
  case Method::inter_only:
    return {exchange_groups(problem, HostCosts(problem), block(problem),
                            {options.seed, options.moves.value_or(usual_moves(problem))})};
  case Method::scotch:
    return {by_scotch(problem)};
  }
  return {};
}

} // namespace thalweg::mapping
