#include "mapping/call_plans.hpp"

#include "bounds/bounds.hpp"
#include "planner/passes.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace thalweg::mapping {
namespace {

/// Choices that are taken over from a plan, and how many of one algorithm.
constexpr std::size_t choices_taken = 4;
constexpr std::ptrdiff_t most_of_one = 2;
/// A call is small if it has no block for each rank, and its bytes, over the slowest pair of its
/// hosts, take at most this share of the bound.
constexpr double small_share = 0.05;
/// How much farther from the bound than the best so far a placement may be before it is planned by
/// itself.
constexpr double unlikeness = 1.05;

planner::PlanOptions options() {
  planner::PlanOptions options;
  options.disabled = {"native", "bound", "verify"};
  options.finalists = 2;
  return options;
}

/// As for tables, which programs run by.
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
  hosts.cache = nullptr;
  const HostId root = ranks.placement[index(collective.root)];
  collective.root =
      static_cast<Rank>(std::ranges::find(hosts.placement, root) - hosts.placement.begin());
  collective.size = collective.size * ranks.collective.blocks() / collective.blocks();
  return hosts;
}

bool is_small(const planner::Problem& problem, Time bound) {
  if (problem.collective.blocks() > 1) return false;
  double slowest = std::numeric_limits<double>::infinity();
  for (const HostId a : problem.placement)
    for (const HostId b : problem.placement)
      if (a != b) slowest = std::min(slowest, problem.network.bandwidth(a, b).value());
  return static_cast<double>(problem.collective.total()) <= small_share * bound.value() * slowest;
}

planner::Skeleton skeleton(const planner::Problem& problem, const planner::Choice& choice) {
  return algorithms::make_skeleton(algorithms::find(choice.algorithm), problem, choice.parameters);
}

/// Returns a candidate for one rank on each host as a choice for all ranks. If it makes no
/// difference there, one rank sends for all of a host: more senders make more connections, by which
/// a small call isn't faster, and more messages to simulate.
planner::Choice for_ranks(const planner::Problem& hosts, const planner::Choice& own) {
  planner::Choice thin = own;
  thin.parameters.senders = 1;
  return skeleton(hosts, thin) == skeleton(hosts, own) ? thin : own;
}

} // namespace

planner::Problem on_ranks(const Problem& problem, const Call& call, const Placement& placement) {
  Placement where = placement;
  if (!call.members.empty()) {
    where.clear();
    for (const Rank member : call.members)
      where.push_back(placement[index(member)]);
  }
  const auto ranks = static_cast<Rank>(where.size());
  return {{.kind = call.kind, .ranks = ranks, .root = call.root, .size = call.size},
          problem.network,
          std::move(where)};
}

double calls_of_a_rank(const Problem& problem, const Call& call) {
  if (call.members.empty()) return call.count;
  return call.count * static_cast<double>(call.members.size()) /
         static_cast<double>(problem.ranks());
}

CallPlans::CallPlans(const Problem& problem, Call call)
    : _problem(&problem), _call(std::move(call)), _weight(calls_of_a_rank(problem, _call)) {}

double CallPlans::seconds(const Placement& placement) {
  planner::Problem ranks = on_ranks(*_problem, _call, placement);
  return is_on_one_host(ranks.placement) ? 0 : _weight * shortest(ranks).value();
}

double CallPlans::least_seconds(const Placement& placement) {
  const planner::Problem ranks = on_ranks(*_problem, _call, placement);
  return is_on_one_host(ranks.placement) ? 0 : _weight * bound(ranks).value();
}

Time CallPlans::bound(const planner::Problem& ranks) {
  // Which rank is where doesn't matter, except for the root and for the order of a scan.
  const collective::Kind kind = ranks.collective.kind;
  Placement known_by = ranks.placement;
  if (!collective::is_prefix(kind)) std::ranges::sort(known_by);
  if (collective::is_rooted(kind))
    known_by.push_back(ranks.placement[index(ranks.collective.root)]);
  const auto [found, is_new] = _bounds.try_emplace(std::move(known_by));
  if (is_new) found->second = bounds::bound(ranks).time;
  return found->second;
}

Time CallPlans::plan(const planner::Problem& problem, const planner::Problem& ranks) {
  const std::size_t size = problem.placement.size();
  const bool is_on_hosts = size < ranks.placement.size();
  planner::Limits limits =
      is_on_hosts ? mapping::limits(size)
                  : planner::Limits{planner::plan_preset(planner::Effort::normal, size)};
  const planner::Known known{{bound(ranks), {}}, {}};
  limits.known = &known;
  planner::PlanOptions options = mapping::options();
  std::erase(options.disabled, "bound");
  options = planner::with_preset(options, limits.preset);
  planner::Passes passes(problem, options, limits);
  passes.run();
  const planner::Explanation found = passes.take();
  std::vector<planner::Choice> choices;
  for (const planner::Candidate& each : found.candidates) {
    if (choices.size() == choices_taken) break;
    if (!each.time() ||
        std::ranges::count(choices, each.algorithm, &planner::Choice::algorithm) == most_of_one ||
        !algorithms::find(each.algorithm).can_do(ranks.collective))
      continue;
    planner::Choice choice{each.algorithm, each.parameters};
    choices.push_back(is_on_hosts ? for_ranks(problem, choice) : choice);
  }
  for (planner::Choice& choice : choices)
    if (std::ranges::find(_choices, choice) == _choices.end())
      _choices.push_back(std::move(choice));
  return found.plan.predicted;
}

Time CallPlans::compare(const planner::Problem& ranks) {
  const planner::Limits limits = mapping::limits(ranks.placement.size());
  const Time enough = bound(ranks) * limits.preset.enough;
  Time shortest = Time::infinity();
  for (const planner::Choice& choice : _choices) {
    if (shortest <= enough) break;
    shortest = std::min(
        shortest, planner::judge(ranks, skeleton(ranks, choice), options(), limits, shortest));
  }
  return shortest;
}

Time CallPlans::shortest(planner::Problem& ranks) {
  algorithms::Cache cache;
  ranks.cache = &cache;
  const Time bound = this->bound(ranks);
  Time shortest = Time::infinity();
  if (_choices.empty()) {
    const planner::Problem hosts = on_hosts(ranks);
    if (is_small(hosts, bound))
      _nearest = plan(hosts, ranks) / bound;
    else
      shortest = plan(ranks, ranks);
  }
  if (!(shortest < Time::infinity())) shortest = compare(ranks);
  if (shortest > bound * (_nearest * unlikeness)) shortest = std::min(shortest, plan(ranks, ranks));
  _nearest = std::min(_nearest, shortest / bound);
  return shortest;
}

} // namespace thalweg::mapping
