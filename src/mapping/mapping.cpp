#include "mapping/mapping.hpp"

#include "mapping/groups.hpp"
#include "mapping/native_calls.hpp"
#include "mapping/part.hpp"
#include "mapping/refine.hpp"
#include "mapping/scotch.hpp"
#include "mapping/sites.hpp"
#include "mapping/starts.hpp"
#include "mapping/streams.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace thalweg::mapping {
namespace {

/// Where ranks are placed on sites first, what other methods find with a table of all pairs of
/// hosts is compared, up to this multiple of MapOptions::hosts_at_once and these ranks: it takes a
/// second to three.
constexpr double most_times_compared = 1.5;
constexpr Rank most_ranks_compared = 512;
/// Sets of hosts that are tried where not all are needed, if ranks are so many that more starts
/// take little beside the search.
constexpr std::size_t most_choices = 3;
constexpr Rank least_ranks_for_choices = 512;
/// Starts that a search goes on from: the best of all.
constexpr std::size_t most_starts = 5;
/// With more ranks hosts are bisected by distance only where there is no Scotch: it takes seconds.
constexpr Rank most_ranks_for_bisection = 4096;

/// The shares of a search's moves that its parts take. Those of CloudMap's halves are as many as
/// bring them near to what they find with many more.
struct Shares {
  double intra = 1. / 16, inter = 0.35, refinement = 0.7;
};
constexpr Shares shares;

RefineOptions part(const RefineOptions& all, double share) {
  return {all.seed, static_cast<std::int64_t>(static_cast<double>(all.moves) * share)};
}

struct Candidate {
  Placement placement;
  double cost = 0;
  /// Whether another method finds just this.
  bool has_method = false;
};

/// Returns what takes no time to find.
std::vector<Placement> simple(const Problem& problem, std::uint64_t seed) {
  return {block(problem), interleave(problem), random(problem, seed)};
}

Network even_network_of(const Problem& problem) {
  Network even = network::even_network(problem.network.size(), Time(1e-5), units::Rate(1e9));
  for (network::Host& host : even.hosts)
    host.egress = host.ingress = units::Rate::infinity();
  return even;
}

/// A problem as if all hosts were equally far from each other.
struct EvenHosts {
  explicit EvenHosts(const Problem& uneven)
      : network(even_network_of(uneven)), problem{network, uneven.communication, uneven.slots} {
    problem.metric = uneven.metric;
    problem.pinned = uneven.pinned;
  }
  EvenHosts(const EvenHosts&) = delete; // the problem refers to the network
  EvenHosts& operator=(const EvenHosts&) = delete;
  ~EvenHosts() = default;

  Network network;
  Problem problem;
};

/// Minimises traffic between hosts as if all were equally far from each other. That divides the
/// hosts into equal halves, where distances may ask for others that the ranks' groups don't fit.
/// The groups are dealt out to the hosts at random.
/// @param slots by host, for just all ranks
Placement intra_only(const Problem& problem, const std::vector<std::int32_t>& slots,
                     const RefineOptions& search) {
  const EvenHosts even(problem);
  const HostCosts costs(even.problem);
  const Placement found =
      refine(even.problem, costs, bisect(even.problem, costs, slots), part(search, shares.intra));
  return shuffle_groups(problem, found, search.seed);
}

/// Keeps successive ranks together, as `block` does, and optimises which of these groups is on
/// which host, and in which order hosts of different slots are filled.
Placement inter_only(const Problem& problem, const HostCosts& costs, const RefineOptions& search) {
  const Placement groups = block(problem);
  Placement found = exchange_groups(problem, costs, bisect_groups(problem, costs, groups),
                                    part(search, shares.inter));
  const std::int64_t moves = part(search, shares.inter).moves;
  if (!problem.calls.empty()) found = swap_groups(problem, costs, found, moves);
  return reorder_groups(problem, costs, found, moves);
}

RefineOptions search_options(const Problem& problem, const MapOptions& options) {
  return {options.seed, options.moves.value_or(usual_moves(problem))};
}

void add_new(std::vector<Placement>& placements, Placement placement) {
  if (std::ranges::find(placements, placement) == placements.end())
    placements.push_back(std::move(placement));
}

/// Whether the ranks can stay where they were.
bool can_stay(const Problem& problem) {
  std::vector<std::int32_t> left = problem.slots;
  for (Rank rank = 0; rank < static_cast<Rank>(problem.previous.size()); ++rank) {
    const HostId host = problem.previous[index(rank)], pinned = problem.pinned_to(rank);
    if (--left[index(host)] < 0 || (pinned != no_host && pinned != host)) return false;
  }
  return !problem.previous.empty();
}

class Search {
public:
  Search(const Problem& problem, const MapOptions& options)
      : _problem(problem), _costs(problem), _options(search_options(problem, options)) {}

  /// Returns the different placements of least cost, the best first.
  /// @param with_methods whether those of all methods follow
  std::vector<Placement> run(std::size_t most, bool with_methods = false) const {
    const std::vector<Candidate> starts = this->starts();
    std::vector<Candidate> found = starts;
    // The best half goes on each time, with as many moves as all together had before.
    for (std::size_t keep = most_starts; keep > 0; keep /= 2) {
      std::ranges::stable_sort(found, {}, &Candidate::cost);
      keep = std::min(keep, found.size());
      const double share = shares.refinement / (keep == 1 ? 2 : 4) / static_cast<double>(keep);
      for (std::size_t at = 0; at < keep; ++at)
        found[at] = improved(std::move(found[at]), part(_options, share));
    }
    std::ranges::stable_sort(found, {}, &Candidate::cost);
    std::vector<Placement> placements;
    for (Candidate& each : found)
      if (placements.size() < most) add_new(placements, std::move(each.placement));
    for (const Candidate& each : starts)
      if (with_methods && each.has_method) add_new(placements, each.placement);
    return placements;
  }

private:
  [[nodiscard]] std::vector<Candidate> starts() const {
    std::vector<Candidate> starts;
    const auto add = [&](Placement placement, bool has_method = false) {
      const double cost = State(_problem, _costs, placement).total();
      starts.push_back({std::move(placement), cost, has_method});
    };
    // The first of those that cost the same stays, so that ranks don't move for nothing.
    if (can_stay(_problem)) add(_problem.previous);
    for (Placement& each : simple(_problem, _options.seed))
      add(std::move(each), true);
    const std::size_t most = _problem.ranks() < least_ranks_for_choices ? 1 : most_choices;
    const auto choices = choices_of_hosts(_problem, _costs, most);
    for (const auto& slots : choices) {
      auto by_scotch = scotch(_problem, _costs, slots);
      if (by_scotch) add(std::move(*by_scotch), &slots == &choices.front());
      if (!by_scotch || _problem.ranks() <= most_ranks_for_bisection)
        add(bisect(_problem, _costs, slots));
      add(join(_problem, _costs, slots));
    }
    add(intra_only(_problem, choices.front(), _options), true);
    add(inter_only(_problem, _costs, _options), true);
    return starts;
  }

  Candidate improved(Candidate candidate, const RefineOptions& search) const {
    candidate.placement =
        exchange_groups(_problem, _costs, candidate.placement, part(search, 0.25));
    Placement refined = refine(_problem, _costs, candidate.placement, part(search, 0.75));
    const double cost = State(_problem, _costs, refined).total();
    if (cost < candidate.cost) candidate = {std::move(refined), cost};
    return candidate;
  }

  const Problem& _problem;
  HostCosts _costs;
  RefineOptions _options;
};

/// Puts the placement of least cost first, the first of those that cost the same.
void put_cheapest_first(const Problem& problem, std::vector<Placement>& all) {
  const HostCosts costs(problem, HostCosts::Pairs::on_demand);
  std::vector<double> total;
  for (const Placement& each : all)
    total.push_back(State(problem, costs, each).total());
  std::swap(all.front(), all[index(std::ranges::min_element(total) - total.begin())]);
}

/// Returns what the methods find that need a table of all pairs of hosts.
std::vector<Placement> by_other_methods(const Problem& problem, const MapOptions& options) {
  const HostCosts costs(problem);
  const std::vector<std::int32_t> slots = choices_of_hosts(problem, costs, 1).front();
  const RefineOptions search = search_options(problem, options);
  std::vector<Placement> found = {intra_only(problem, slots, search),
                                  inter_only(problem, costs, search)};
  if (auto by_scotch = scotch(problem, costs, slots)) found.push_back(std::move(*by_scotch));
  return found;
}

/// Searches, for each site or part of one by itself if the network has very many hosts.
std::vector<Placement> searched(const Problem& problem, const MapOptions& options, std::size_t most,
                                bool with_methods) {
  if (std::cmp_less_equal(problem.network.size(), options.hosts_at_once))
    return Search(problem, options).run(most, with_methods);
  const auto search = [&](const Problem& each) { return Search(each, options).run(1).front(); };
  std::vector<Placement> all;
  if (can_stay(problem)) all.push_back(problem.previous);
  for (Placement& each : simple(problem, options.seed))
    add_new(all, std::move(each));
  add_new(all, by_sites(problem, index(options.hosts_at_once), search));
  if (problem.network.size() <= most_times_compared * options.hosts_at_once &&
      problem.ranks() <= most_ranks_compared)
    for (Placement& each : by_other_methods(problem, options))
      add_new(all, std::move(each));
  put_cheapest_first(problem, all);
  if (!with_methods) all.resize(1);
  return all;
}

/// Places by Thalweg's form of one of CloudMap's halves, just as a search begins with it.
Placement half(const Problem& problem, const MapOptions& options) {
  const HostCosts costs(problem);
  const RefineOptions search = search_options(problem, options);
  if (options.method == Method::inter_only) return inter_only(problem, costs, search);
  return intra_only(problem, choices_of_hosts(problem, costs, 1).front(), search);
}

/// Scotch alone, or one of CloudMap's halves. Returns nothing where Scotch can't.
std::optional<Placement> tried_by_scotch(const Problem& problem, const MapOptions& options) {
  const HostCosts costs(problem);
  if (options.method == Method::cloudmap_inter && has_scotch())
    return scotch_groups(problem, costs, random(problem, options.seed));
  const std::vector<std::int32_t> slots = choices_of_hosts(problem, costs, 1).front();
  if (options.method == Method::scotch) return scotch(problem, costs, slots);
  const EvenHosts even(problem);
  const auto groups = scotch(even.problem, HostCosts(even.problem), slots);
  if (!groups) return std::nullopt;
  return shuffle_groups(problem, *groups, options.seed);
}

Placement by_scotch(const Problem& problem, const MapOptions& options) {
  auto found = tried_by_scotch(problem, options);
  if (!found)
    throw std::invalid_argument(has_scotch()
                                    ? "Scotch can't map this: the ranks exchange no messages, or "
                                      "its library refuses"
                                    : "this build has no Scotch: install libscotch-dev and build "
                                      "again, or use another method");
  return std::move(*found);
}

/// Places by any method.
std::vector<Placement> placed(const Problem& problem, const MapOptions& options, std::size_t most,
                              bool with_methods) {
  switch (options.method) {
  case Method::thalweg:
    return searched(problem, options, std::max<std::size_t>(1, most), with_methods);
  case Method::block:
    return {block(problem)};
  case Method::interleave:
    return {interleave(problem)};
  case Method::random:
    return {random(problem, options.seed)};
  case Method::intra_only:
  case Method::inter_only:
    return {half(problem, options)};
  case Method::scotch:
  case Method::cloudmap_intra:
  case Method::cloudmap_inter:
    return {by_scotch(problem, options)};
  }
  return {};
}

} // namespace

std::int64_t usual_moves(const Problem& problem) {
  const std::int64_t ranks = problem.ranks();
  if (ranks <= 16) return 30'000; // hardly take any time
  return ranks <= 256 ? 2000 + 56 * ranks : std::min<std::int64_t>(400 * ranks, 600'000);
}

Placement place(const Problem& problem, const MapOptions& options) {
  return finalists(problem, options, 1).front();
}

std::vector<Placement> finalists(const Problem& given, const MapOptions& options,
                                 std::size_t most) {
  validate(given);
  const bool with_methods = most > 1 && !given.calls.empty();
  const bool needs_messages = options.method != Method::block &&
                              options.method != Method::interleave &&
                              options.method != Method::random;
  Problem problem =
      needs_messages ? with_native_messages(with_waits(given), options.native) : given;
  if (std::ranges::count(problem.slots, 0) == 0)
    return placed(problem, options, most, with_methods);
  const UsableHosts usable(std::move(problem));
  std::vector<Placement> found = placed(usable.problem(), options, most, with_methods);
  for (Placement& each : found)
    each = usable.in_whole(each);
  return found;
}

} // namespace thalweg::mapping
