#include "probe/trunks.hpp"

#include "probe/filling.hpp"
#include "probe/shifts.hpp"
#include "probe/trunk_search.hpp"

#include <algorithm>
#include <functional>
#include <set>

namespace thalweg::probe {
namespace {

/// Flows per host where one isn't enough.
constexpr std::size_t several = 3;
/// Several flows of each host must be able to get this much more than one of each.
constexpr double worthwhile = 1.15;
/// Flows that could get this much more than a trunk carries lose so many segments that their rate
/// is hard to tell: fewer must fill it.
constexpr double overload = 2;

/// Lets all hosts of a site send at the same time where that was tried.
Widths widths_for(const Sites& sites, bool inside, bool between) {
  Widths widths(sites.size());
  for (std::size_t s = 0; s < sites.size(); ++s) {
    if (inside) widths.inside[s] = std::max<std::size_t>(1, sites[s].size() / 2);
    if (!between) continue;
    widths.leaving[s] = widths.entering[s] = sites[s].size();
    for (std::size_t t = 0; t < sites.size(); ++t)
      widths.between[s * sites.size() + t] = std::min(sites[s].size(), sites[t].size());
  }
  return widths;
}

/// Returns how many flows leave capacity in a trunk.
Widths::Joint joint_width(const FilledTrunk& trunk, const Bandwidths& bandwidths) {
  Rate fastest(0);
  for (HostId from : trunk.from)
    for (HostId to : trunk.to)
      fastest = std::max(fastest, bandwidths.rate(from, to));
  const auto most = static_cast<std::size_t>(undisturbed_share * (trunk.capacity / fastest));
  return {{trunk.from, trunk.to}, std::max<std::size_t>(1, most), trunk.capacity};
}

/// Returns the fewest hosts that fill the trunk with one flow each, the fastest first; all, if
/// they don't.
std::int32_t senders(const FilledTrunk& trunk, const Bandwidths& bandwidths) {
  constexpr double enough = 0.95;
  std::vector<Rate> best;
  for (HostId from : trunk.from) {
    best.emplace_back(0);
    for (HostId to : trunk.to)
      best.back() = std::max(best.back(), bandwidths.rate(from, to));
  }
  std::ranges::sort(best, std::greater());
  Rate sum(0);
  std::size_t n = 0;
  const auto most = std::min(trunk.from.size(), trunk.to.size());
  while (n < most && sum < trunk.capacity * enough)
    sum += best[n++];
  return static_cast<std::int32_t>(n);
}

/// Whether no host sends several flows.
bool sends_once(const std::vector<Flow>& crowd) {
  std::set<HostId> senders;
  for (auto flow : crowd)
    senders.insert(flow.from);
  return senders.size() == crowd.size();
}

/// Returns the flows that got in some crowd what they should get alone, and in none more: one that
/// got more has a faster link than was inferred.
std::vector<Flow> undisturbed_flows(const Evidence& evidence) {
  constexpr double nearly_all = 0.9, too_much = 1.1;
  const auto by_hosts = [](Flow a, Flow b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  };
  std::set<Flow, decltype(by_hosts)> enough(by_hosts), faster(by_hosts);
  for (const auto& seen : evidence.observations()) {
    const auto alone = evidence.model().alone(seen.flows);
    for (std::size_t f = 0; f < seen.flows.size(); ++f) {
      if (seen.each[f] >= alone[f] * nearly_all) enough.insert(seen.flows[f]);
      if (seen.each[f] > alone[f] * too_much) faster.insert(seen.flows[f]);
    }
  }
  std::vector<Flow> flows;
  std::ranges::set_difference(enough, faster, std::back_inserter(flows), by_hosts);
  return flows;
}

} // namespace

FoundTrunks find_trunks(const Crowds& crowds, const Latencies& latencies, const Sites& sites,
                        double share) {
  Evidence evidence(crowds, RateModel(crowds.bandwidths()), crowds.prober().deadline(share));
  TrunkSearch search(evidence, latencies, sites);
  const auto inside = shifts_inside(sites), between = shifts_between(sites);
  const bool all_inside = search.watch(inside) == inside.size();
  const bool all_between = search.watch(between) == between.size();
  search.suppose();
  search.explain();
  if (sites.size() > 2)
    for (const bool out : {true, false})
      for (const auto& site : sites)
        search.challenge(site, out);
  search.drop_implied();
  auto seen = undisturbed_flows(evidence);
  FoundTrunks result{std::move(evidence.trunks), widths_for(sites, all_inside, all_between),
                     std::move(seen)};
  for (const auto& trunk : result.trunks)
    result.widths.joint.push_back(joint_width(trunk, crowds.bandwidths()));
  return result;
}

std::vector<network::Trunk> measure_trunks(const Crowds& crowds, const Latencies& latencies,
                                           const Sites& sites, const Capacities& capacities,
                                           std::vector<FilledTrunk> found, double share) {
  Evidence evidence(crowds, RateModel(crowds.bandwidths(), capacities),
                    crowds.prober().deadline(share));
  evidence.trunks = std::move(found);
  const auto expected = [&](const std::vector<Flow>& flows) {
    return sum(evidence.predict(flows));
  };
  const auto heavy = shifts_between(sites, several), light = shifts_between(sites);
  for (std::size_t c = 0; c < heavy.size() && evidence.has_time(); ++c)
    if (expected(heavy[c]) > expected(light[c]) * worthwhile) evidence.run(heavy[c]);
  TrunkSearch search(evidence, latencies, sites);
  search.explain();
  search.drop_implied();
  std::vector<std::size_t> by_one_flow;
  for (std::size_t t = 0; t < evidence.trunks.size(); ++t) {
    auto& trunk = evidence.trunks[t];
    const bool is_overfull = evidence.predict_without(trunk.crowd, t) > trunk.capacity * overload;
    if (is_overfull && sends_once(trunk.crowd))
      by_one_flow.push_back(t);
    else
      trunk.senders = senders(trunk, crowds.bandwidths());
  }
  fill(evidence, by_one_flow);
  search.drop_implied();
  if (!evidence.has_time())
    crowds.prober().note("the time budget ended while trunks were looked for: some may be missing");
  std::vector<network::Trunk> result;
  for (const auto& trunk : evidence.trunks)
    result.push_back(search.trunk_of(trunk));
  make_names_unique(result);
  return result;
}

} // namespace thalweg::probe
