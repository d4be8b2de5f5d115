#include "mapping/call_plans.hpp"

#include "bounds/bounds.hpp"
#include "planner/passes.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace thalweg::mapping {
namespace {

/// Choices that are compared on each placement, and how many of one algorithm. The best one on all
/// ranks is among the first two or three of those on the hosts.
constexpr std::size_t most_choices = 3;
constexpr std::ptrdiff_t most_of_one = 2;

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
  const HostId root = ranks.placement[index(collective.root)];
  collective.root =
      static_cast<Rank>(std::ranges::find(hosts.placement, root) - hosts.placement.begin());
  collective.size = collective.size * ranks.collective.blocks() / collective.blocks();
  return hosts;
}

/// Whether the call's bytes hardly add to its time, even over the slowest pair of its hosts.
bool is_small(const planner::Problem& hosts, Time time, double share) {
  double slowest = std::numeric_limits<double>::infinity();
  for (const HostId a : hosts.placement)
    for (const HostId b : hosts.placement)
      if (a != b) slowest = std::min(slowest, hosts.network.bandwidth(a, b).value());
  return static_cast<double>(hosts.collective.total()) <= share * time.value() * slowest;
}

planner::Skeleton skeleton(const planner::Problem& problem, const planner::Choice& choice) {
  return algorithms::make_skeleton(algorithms::find(choice.algorithm), problem, choice.parameters);
}

/// Returns a candidate for the hosts as choices for the ranks: where it makes no difference with
/// one rank on each host, first that one of them sends for all, which takes much fewer messages to
/// simulate. More senders make more connections, which only large calls gain by.
std::vector<planner::Choice> for_ranks(const planner::Problem& hosts,
                                       const planner::Candidate& candidate, double precision) {
  const planner::Choice own{candidate.algorithm, candidate.parameters};
  planner::Choice thin = own;
  thin.parameters.senders = 1;
  if (thin == own || skeleton(hosts, thin) != skeleton(hosts, own)) return {own};
  if (is_small(hosts, *candidate.time(), precision)) return {thin};
  return {thin, own};
}

} // namespace

CallPlans::CallPlans(const Problem& problem, Call call) : _problem(&problem), _call(std::move(call)) {
  const auto ranks = static_cast<double>(problem.ranks());
  _weight = _call.count *
            (_call.members.empty() ? 1 : static_cast<double>(_call.members.size()) / ranks);
}

double CallPlans::seconds(const Placement& placement) {
  planner::Problem ranks = on_ranks(placement);
  return is_on_one_host(ranks.placement) ? 0 : _weight * shortest(ranks).value();
}

double CallPlans::least_seconds(const Placement& placement) {
  const planner::Problem ranks = on_ranks(placement);
  return is_on_one_host(ranks.placement) ? 0 : _weight * bound(ranks).value();
}

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

void CallPlans::rank_choices(const planner::Problem& ranks) {
  const planner::Problem hosts = on_hosts(ranks);
  planner::Limits limits = mapping::limits(hosts.placement.size());
  const planner::Known known{{bound(ranks), {}}, {}};
  limits.known = &known;
  planner::PlanOptions options = mapping::options();
  std::erase(options.disabled, "bound");
  options = planner::with_preset(options, limits.preset);
  planner::Passes passes(hosts, options, limits);
  passes.run();
  std::vector<std::string_view> taken;
  const planner::Explanation found = passes.take();
  for (const planner::Candidate& each : found.candidates) {
    if (taken.size() == most_choices) break;
    if (!each.time() || std::ranges::count(taken, each.algorithm) == most_of_one ||
        !algorithms::find(each.algorithm).can_do(ranks.collective))
      continue;
    taken.push_back(each.algorithm);
    for (planner::Choice& choice : for_ranks(hosts, each, limits.preset.enough - 1))
      _choices.push_back(std::move(choice));
  }
}

Time CallPlans::shortest(planner::Problem& ranks) {
  if (_choices.empty()) rank_choices(ranks);
  if (_choices.empty()) return planner::plan(ranks, options()).predicted;
  algorithms::Cache cache;
  ranks.cache = &cache;
  const planner::Limits limits = mapping::limits(ranks.placement.size());
  const Time enough = bound(ranks) * limits.preset.enough;
  Time shortest = Time::infinity();
  for (const planner::Choice& choice : _choices) {
    if (shortest <= enough) break;
    shortest = std::min(shortest, planner::judge(ranks, skeleton(ranks, choice), options(), limits,
                                                 shortest));
  }
  return shortest;
}

} // namespace thalweg::mapping
