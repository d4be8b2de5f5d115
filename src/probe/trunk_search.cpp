#include "probe/trunk_search.hpp"

#include "probe/isolation.hpp"
#include "probe/membership.hpp"
#include "probe/partitions.hpp"
#include "probe/shifts.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace thalweg::probe {
namespace {

/// A flow that gets less than this fraction of what is predicted isn't held back by chance.
constexpr double surely_less = 0.8;
/// The same for several flows together.
constexpr double clearly_less = 0.9;
/// Flows that get less than this multiple of a capacity may share it.
constexpr double explained = 1.1;
/// A trunk that the others limit to less than this multiple of its capacity follows from them:
/// TCP hardly fills several capacities at once.
constexpr double implied = 1.15;
/// Attempts to explain one crowd.
constexpr int most_attempts = 8;
/// Tests of a trunk that is supposed.
constexpr std::size_t most_tests = 2;
/// The flows that test it could get this much more.
constexpr double test_reserve = 2;
/// How many more suppositions may be wrong than trunks are known: links of a ring, for example,
/// don't part the sites.
constexpr std::size_t most_wrong = 1;

/// Whether a supposition needs no test of its own: flows between enough pairs of sites filled the
/// trunk by themselves, or enough crowds did, in one of which several pairs had flows.
bool is_sure(const Supposition& supposed) {
  constexpr std::size_t enough = 3;
  return supposed.site_pairs >= enough ||
         (supposed.is_joint && supposed.is_even && supposed.crowds >= enough);
}

} // namespace

std::size_t TrunkSearch::watch(const std::vector<std::vector<Flow>>& crowds) {
  std::size_t done = 0;
  while (done < crowds.size() && _evidence.has_time())
    _evidence.run(crowds[done++]);
  return done;
}

/// Returns the flows that got less than the known capacities allow.
std::vector<Flow> TrunkSearch::unexplained(const Observation& seen) const {
  const auto expected = _evidence.predict(seen.flows);
  struct Total {
    Rate seen, expected;
    std::vector<std::size_t> flows;
  };
  std::map<SitePair, Total> totals;
  std::set<std::size_t> suspects;
  for (std::size_t f = 0; f < seen.flows.size(); ++f) {
    auto& all = totals[_site(seen.flows[f])];
    all.seen += seen.each[f], all.expected += expected[f];
    all.flows.push_back(f);
    if (seen.each[f] < expected[f] * surely_less) suspects.insert(f);
  }
  for (const auto& [ends, all] : totals)
    if (all.seen < all.expected * clearly_less) suspects.insert(all.flows.begin(), all.flows.end());
  std::vector<Flow> result;
  for (auto f : suspects)
    result.push_back(seen.flows[f]);
  return result;
}

void TrunkSearch::suppose() {
  bool more = true;
  const auto judge = [&](Supposition supposed) {
    auto& trunk = supposed.trunk;
    auto& tests = _tests[{trunk.from, trunk.to}];
    if (tests >= most_tests) return true;
    more = _evidence.has_time() && _wrong <= _evidence.trunks.size() + most_wrong;
    if (!more) return false;
    if (is_sure(supposed) || is_as_supposed(trunk, tests)) {
      _evidence.trunks.push_back(std::move(trunk));
      tests = most_tests;
    } else {
      ++_wrong;
    }
    return true;
  };
  while (more && _evidence.has_time()) {
    more = false;
    suppose_trunks(_evidence, _sites, _latencies, judge);
  }
}

/// Runs flows through a trunk that is supposed, and others where the first ones could hardly have
/// got more. @return whether all got what it is supposed to carry, which is then its capacity
bool TrunkSearch::is_as_supposed(FilledTrunk& trunk, std::size_t& tests) {
  for (bool is_settled = false; !is_settled;) {
    if (!_evidence.has_time()) return false;
    const auto seen = _evidence.run(enough_flows(trunk, tests++));
    const bool as_much =
        seen.total() > trunk.capacity * clearly_less && seen.total() < trunk.capacity * explained;
    if (!as_much || !is_short(seen) || any_is_free(_evidence, _latencies, seen, trunk.capacity))
      return false;
    const bool clearly = seen.total() < sum(_evidence.predict(seen.flows)) * surely_less;
    is_settled = clearly || tests >= most_tests;
    trunk.capacity = seen.total(), trunk.crowd = seen.flows;
  }
  return true;
}

/// Returns flows of a trunk that could get clearly more than it is supposed to carry.
std::vector<Flow> TrunkSearch::enough_flows(const FilledTrunk& trunk, std::size_t shift) const {
  constexpr std::size_t fewest = 2;
  auto flows = spread(flows_through(_evidence, trunk, _sites, shift));
  auto n = std::min(fewest, flows.size());
  while (n < flows.size() &&
         sum(_evidence.predict(std::span(flows).first(n))) < trunk.capacity * test_reserve)
    ++n;
  flows.resize(n);
  return flows;
}

void TrunkSearch::explain() {
  const std::vector<Observation> seen = _evidence.observations();
  for (std::size_t i = 0; i < seen.size(); ++i) {
    explain(seen[i]);
    _evidence.crowds().prober().progress("trunks", i + 1, seen.size());
  }
}

void TrunkSearch::challenge(const std::vector<HostId>& hosts, bool out) {
  if (!_evidence.has_time()) return;
  const auto inside = [&](HostId host) { return std::ranges::binary_search(hosts, host); };
  Rate most(0);
  for (const auto& seen : _evidence.observations()) {
    Rate carried(0);
    for (std::size_t f = 0; f < seen.flows.size(); ++f)
      if (inside(seen.flows[f].from) == out && inside(seen.flows[f].to) != out)
        carried += seen.each[f];
    most = std::max(most, carried);
  }
  const auto crowd = scattered(_sites, hosts, out);
  if (sum(_evidence.predict(crowd)) <= most * explained) return;
  const auto seen = _evidence.run(crowd);
  suppose();
  explain(seen);
}

/// Finds trunks until they explain what was seen, or nothing new is found.
void TrunkSearch::explain(const Observation& seen) {
  for (int attempt = 0; attempt < most_attempts && _evidence.has_time(); ++attempt) {
    const auto suspects = unexplained(seen);
    if (suspects.empty()) return;
    auto parts = isolate(_evidence, suspects, _site);
    if (parts.empty()) parts.push_back(with_accomplices(seen, suspects));
    const auto before = _evidence.trunks.size();
    for (const auto& part : parts) {
      if (!is_short(part) || is_crossed(part.flows)) continue;
      const auto alone = by_itself(part);
      if (is_short(alone) && is_link(alone)) add_trunk(alone);
    }
    if (_evidence.trunks.size() == before) return;
  }
}

bool TrunkSearch::is_short(const Observation& seen) const {
  return filled(seen.total(), sum(_evidence.predict(seen.flows)));
}

/// Whether a capacity that is known carries the data of some flows and the acknowledgements of
/// others. These wait in a queue that they don't fill, and their flows get less though they share
/// nothing.
bool TrunkSearch::is_crossed(const std::vector<Flow>& flows) const {
  return std::ranges::any_of(_evidence.trunks, [&](const FilledTrunk& trunk) {
    return std::ranges::any_of(flows, [&](Flow flow) { return trunk.carries(flow); }) &&
           std::ranges::any_of(flows, [&](Flow flow) {
             return trunk.carries({flow.to, flow.from});
           });
  });
}

/// Returns what flows of a part get while no others run, which may have slowed them.
Observation TrunkSearch::by_itself(const Observation& part) {
  for (const auto& seen : _evidence.observations())
    if (seen.flows == part.flows) return seen;
  return _evidence.has_time() ? _evidence.run(part.flows) : part;
}

/// Adds the trunk that flows fill, and the opposite direction if the opposite flows fill that.
void TrunkSearch::add_trunk(const Observation& part) {
  auto trunk = find_members(_evidence, part, _sites, _latencies);
  _evidence.trunks.push_back(trunk);
  if (!_evidence.has_time()) return;
  std::vector<Flow> flows;
  for (auto [from, to] : part.flows)
    flows.push_back({to, from});
  const auto seen = _evidence.run(flows);
  if (is_short(seen))
    _evidence.trunks.push_back(find_members(_evidence, seen, _sites, _latencies, &trunk));
}

/// Whether flows inside a site share a link, which has a capacity in each direction, rather than a
/// processor or a medium, which flows in the other direction share, too. Those can't be described
/// by trunks. Flows between sites share links.
bool TrunkSearch::is_link(const Observation& part) {
  const auto home = _site(part.flows.front().from);
  const auto is_home = [&](Flow flow) { return _site(flow) == SitePair(home, home); };
  if (!std::ranges::all_of(part.flows, is_home) || !_evidence.has_time()) return true;
  auto flows = part.flows;
  for (auto [from, to] : part.flows)
    flows.push_back({to, from});
  const auto seen = _evidence.run(flows);
  return sum(std::span(seen.each).first(part.flows.size())) >= part.total() * surely_less;
}

/// Returns the suspects between the two sites where most is missing, and what holds them back.
Observation TrunkSearch::with_accomplices(const Observation& seen,
                                          const std::vector<Flow>& suspects) const {
  const auto expected = _evidence.predict(seen.flows);
  std::map<SitePair, double> missing;
  for (std::size_t f = 0; f < seen.flows.size(); ++f)
    if (std::ranges::find(suspects, seen.flows[f]) != suspects.end())
      missing[_site(seen.flows[f])] += expected[f].value() - seen.each[f].value();
  const auto worst = std::ranges::max_element(missing, {}, [](const auto& e) { return e.second; });
  std::vector<Flow> held, others;
  for (auto flow : seen.flows)
    (_site(flow) == worst->first ? held : others).push_back(flow);
  return find_accomplices(_evidence, held, others, _site);
}

/// Gives each trunk whose flows have got clearly more than its capacity what they got.
void TrunkSearch::widen_refuted() {
  for (auto& trunk : _evidence.trunks)
    for (const auto& seen : _evidence.observations())
      if (const auto got = carried(trunk, seen); got > trunk.capacity * explained)
        trunk.capacity = got;
}

void TrunkSearch::drop_implied() {
  constexpr std::size_t most_flows = 512;
  widen_refuted();
  auto& trunks = _evidence.trunks;
  for (std::size_t t = trunks.size(); t-- > 0;) {
    const auto pairs = trunks[t].from.size() * trunks[t].to.size();
    std::vector<Flow> flows;
    for (std::size_t i = 0; i < pairs; i += pairs / most_flows + 1)
      flows.push_back(
          {trunks[t].from[i % trunks[t].from.size()], trunks[t].to[i / trunks[t].from.size()]});
    if (_evidence.predict_without(flows, t) <= trunks[t].capacity * implied)
      trunks.erase(trunks.begin() + static_cast<std::ptrdiff_t>(t));
  }
}

/// Returns "site 0", "sites 0, 1", or "part of site 0".
std::string TrunkSearch::name(const std::vector<HostId>& hosts) const {
  std::map<std::size_t, std::size_t> counts;
  for (HostId host : hosts)
    ++counts[_site(host)];
  std::string whole, parts;
  std::size_t wholes = 0;
  for (auto [s, count] : counts) {
    const bool is_whole = count == _sites[s].size();
    wholes += is_whole ? 1 : 0;
    auto& list = is_whole ? whole : parts;
    if (!list.empty()) list += is_whole ? ", " : ", part of site ";
    list += std::to_string(s);
  }
  if (!whole.empty()) whole = (wholes == 1 ? "site " : "sites ") + whole;
  if (!parts.empty()) parts = (whole.empty() ? "" : " and ") + ("part of site " + parts);
  return whole + parts;
}

network::Trunk TrunkSearch::trunk_of(const FilledTrunk& trunk) const {
  return {name(trunk.from) + " to " + name(trunk.to), trunk.from, trunk.to, trunk.capacity,
          trunk.senders};
}

void make_names_unique(std::vector<network::Trunk>& trunks) {
  std::set<std::string> taken;
  for (const auto& trunk : trunks)
    taken.insert(trunk.name);
  std::set<std::string> seen;
  for (auto& trunk : trunks) {
    if (seen.insert(trunk.name).second) continue;
    const std::string same = trunk.name;
    for (int number = 2; !taken.insert(trunk.name).second; ++number)
      trunk.name = same + " (" + std::to_string(number) + ")";
  }
}

} // namespace thalweg::probe
