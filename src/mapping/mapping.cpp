#include "mapping/mapping.hpp"

#include "mapping/groups.hpp"
#include "mapping/refine.hpp"
#include "mapping/scotch.hpp"
#include "mapping/starts.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace thalweg::mapping {
namespace {

/// Up to so many ranks Scotch takes longer than the search that does without it.
constexpr Rank least_ranks_for_scotch = 512;
/// Sets of hosts that are tried where not all are needed.
constexpr std::size_t most_choices = 3;

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
    for (const std::vector<std::int32_t>& slots :
         choices_of_hosts(_problem, _costs, most_choices)) {
      add(bisect(_problem, _costs, slots));
      if (_problem.ranks() >= least_ranks_for_scotch)
        if (auto found = scotch(_problem, _costs, slots)) add(std::move(*found));
    }
    add(block(_problem));
    std::ranges::stable_sort(starts, {}, &Candidate::cost);
    // A part of the moves for a first descent from each start, the rest for the best of them.
    const auto count = static_cast<std::int64_t>(starts.size());
    for (Candidate& each : starts)
      each = improved(std::move(each), _moves / (4 * count));
    const Candidate& best = *std::ranges::min_element(starts, {}, &Candidate::cost);
    return improved(best, _moves / 4 * 3).placement;
  }

private:
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
  return 2000 + 60 * static_cast<std::int64_t>(problem.ranks());
}

Placement place(const Problem& problem, const MapOptions& options) {
  validate(problem);
  switch (options.method) {
  case Method::thalweg:
    return Search(problem, options).run();
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
