#include "mapping/call_plans.hpp"

#include "planner/passes.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <utility>

namespace thalweg::mapping {
namespace {

/// Choices that are compared on each placement. The best one on all ranks is among the first two or
/// three of those on the hosts.
constexpr std::size_t most_choices = 3;
constexpr std::size_t ranking_length = 8;

planner::PlanOptions options() {
  planner::PlanOptions options;
  options.disabled = {"native", "bound", "verify"};
  options.finalists = 2;
  return options;
}

/// As candidates of a table are simulated, by one thread.
planner::Limits limits(std::size_t ranks) {
  return {planner::table_preset(planner::Effort::normal, ranks)};
}

bool is_on_one_host(const Placement& placement) {
  return std::ranges::all_of(placement, [&](HostId host) { return host == placement.front(); });
}

/// Returns the same collective with one rank on each host, so that as many bytes go between them.
planner::Problem on_hosts(const planner::Problem& ranks) {
  planner::Problem hosts = ranks;
  hosts.placement.clear();
  for (const HostId host : ranks.placement)
    if (std::ranges::find(hosts.placement, host) == hosts.placement.end())
      hosts.placement.push_back(host);
  collective::Collective& collective = hosts.collective;
  collective.ranks = static_cast<Rank>(hosts.placement.size());
  const HostId root = ranks.placement[index(collective.root)];
  collective.root =
      static_cast<Rank>(std::ranges::find(hosts.placement, root) - hosts.placement.begin());
  collective.size = collective.size * ranks.collective.blocks() / collective.blocks();
  return hosts;
}

} // namespace

planner::Problem CallPlans::on_ranks(const Placement& placement) const {
  Placement where = placement;
  if (!_call.members.empty()) {
    where.clear();
    for (const Rank member : _call.members)
      where.push_back(placement[index(member)]);
  }
  const auto ranks = static_cast<Rank>(where.size());
  return {{.kind = _call.kind, .ranks = ranks, .root = _call.root, .size = _call.size},
          _problem->network,
          std::move(where)};
}

void CallPlans::rank_choices(const planner::Problem& ranks) {
  const planner::Problem hosts = on_hosts(ranks);
  const planner::Limits limits = mapping::limits(hosts.placement.size());
  const planner::PlanOptions options = planner::with_preset(mapping::options(), limits.preset);
  planner::Passes passes(hosts, options, limits);
  passes.run();
  for (planner::Choice& choice : passes.ranking(ranking_length))
    if (_choices.size() < most_choices &&
        algorithms::find(choice.algorithm).can_do(ranks.collective))
      _choices.push_back(std::move(choice));
}

double CallPlans::seconds(const Placement& placement) {
  planner::Problem problem = on_ranks(placement);
  const double share =
      static_cast<double>(problem.placement.size()) / static_cast<double>(_problem->ranks());
  return share * _call.count * shortest(std::move(problem)).value();
}

Time CallPlans::shortest(planner::Problem problem) {
  if (is_on_one_host(problem.placement)) return Time(0);
  if (_choices.empty()) rank_choices(problem);
  if (_choices.empty()) return planner::plan(problem, options()).predicted;
  algorithms::Cache cache;
  problem.cache = &cache;
  Time shortest = Time::infinity();
  for (const planner::Choice& choice : _choices) {
    const planner::Skeleton skeleton = algorithms::make_skeleton(
        algorithms::find(choice.algorithm), problem, choice.parameters);
    shortest = std::min(shortest, planner::judge(problem, skeleton, options(),
                                                 limits(problem.placement.size()), shortest));
  }
  return shortest;
}

} // namespace thalweg::mapping
