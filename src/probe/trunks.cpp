#include "probe/trunks.hpp"

#include "probe/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace thalweg::probe {
namespace {

/// The fraction of a trunk's capacity that flows measured at the same time may take.
constexpr double undisturbed = 0.8;
/// Flows that get less than this fraction of their rates alone fill a trunk.
constexpr double nearly_all = 0.97;
/// Senders that get this fraction of a trunk's capacity are enough.
constexpr double enough = 0.95;
/// Flows that get less than this fraction of the expected rate aren't held back by chance.
constexpr double surely_full = 0.75;
constexpr std::size_t most_few = 4;
/// A trunk that the others limit to less than this multiple of its capacity follows from them.
constexpr double explained = 1.1;

/// A set of flows that may share a capacity: out of a site, into one, or between two.
struct Gate {
  std::string name;
  std::vector<HostId> from, to;
  std::vector<Arrow> crowd;
  Rate rate{};       ///< of the crowd together; zero: not measured
  bool full = false; ///< whether it filled a capacity
};

class TrunkSearch {
public:
  TrunkSearch(Coordinator& coordinator, const Crowds& crowds, const Sites& sites, double share)
      : _coordinator(coordinator), _crowds(crowds), _sites(sites),
        _deadline(coordinator.deadline(share)), _leaving(sites.size()), _entering(sites.size()),
        _between(sites.size() * sites.size()) {}

  Trunks find() {
    Trunks trunks{{}, Widths(_sites.size())};
    measure_inside(trunks.widths);
    // With few sites, the trunks between them explain what a site's flows to all others get; with
    // many, what a site shares explains what its flows to each other site get.
    const bool few = _sites.size() <= most_few;
    if (few) measure_between();
    if (_sites.size() > 2) measure_gates();
    if (!few) measure_between();
    set_widths(trunks.widths);
    drop_explained();
    for (auto* gates : {&_leaving, &_entering, &_between})
      for (const auto& gate : *gates)
        if (gate.full) trunks.found.push_back(trunk_of(gate));
    return trunks;
  }

private:
  [[nodiscard]] Gate& between(std::size_t from, std::size_t to) {
    return _between[from * _sites.size() + to];
  }
  [[nodiscard]] Rate single(Arrow flow) const {
    return _crowds.bandwidths().rate(flow.from, flow.to);
  }
  void measure_inside(Widths& widths) const;
  void measure_gates();
  void measure_between();
  void measure(Gate& gate, Rate most) const;
  void record(Gate& gate, Crowded result, Rate most) const;
  [[nodiscard]] std::vector<Arrow> scattered(std::size_t site, bool out) const;
  [[nodiscard]] Rate limit(std::size_t from, std::size_t to) const;
  [[nodiscard]] std::size_t width(const Gate& gate) const;
  void set_widths(Widths& widths);
  void drop_explained();
  [[nodiscard]] Rate by_others(std::size_t site, bool out);
  [[nodiscard]] network::Trunk trunk_of(const Gate& gate) const;

  Coordinator& _coordinator;
  const Crowds& _crowds;
  const Sites& _sites;
  Nanoseconds _deadline;
  std::vector<Gate> _leaving, _entering, _between;
};

std::string site_name(std::size_t site) { return "site " + std::to_string(site); }

/// Returns the hosts of all sites but one, the sites taking turns.
std::vector<HostId> others(const Sites& sites, std::size_t site) {
  std::vector<HostId> result;
  bool more = true;
  for (std::size_t i = 0; more; ++i) {
    more = false;
    for (std::size_t s = 0; s < sites.size(); ++s)
      if (s != site && i < sites[s].size()) result.push_back(sites[s][i]), more = true;
  }
  return result;
}

/// Returns flows from each host of a site's first half to one of its second half.
std::vector<Arrow> halves(const std::vector<HostId>& site) {
  std::vector<Arrow> flows;
  for (std::size_t i = 0; i < site.size() / 2; ++i)
    flows.push_back({site[i], site[i + site.size() / 2]});
  return flows;
}

void TrunkSearch::measure_inside(Widths& widths) const {
  std::vector<std::vector<Arrow>> crowds;
  std::vector<std::size_t> where;
  for (std::size_t s = 0; s < _sites.size(); ++s)
    if (_sites[s].size() >= 4) crowds.push_back(halves(_sites[s])), where.push_back(s);
  while (!crowds.empty() && _coordinator.clock() < _deadline) {
    const auto results = _crowds.run(crowds, std::vector<double>(crowds.size(), 1));
    for (std::size_t c = crowds.size(); c-- > 0;) {
      const auto [together, alone] = results[c];
      auto& crowd = crowds[c];
      const bool free = together != Rate(0) && !filled(together, alone);
      if (free) widths.inside[where[c]] = crowd.size();
      if (!free && crowd.size() > 3) {
        crowd.resize(crowd.size() / 2);
        continue;
      }
      if (!free)
        _coordinator.report.note("the hosts of " + site_name(where[c]) +
                                 " disturb each other: something inside it is shared");
      crowds.erase(crowds.begin() + static_cast<std::ptrdiff_t>(c));
      where.erase(where.begin() + static_cast<std::ptrdiff_t>(c));
    }
  }
}

/// Returns flows between each host of the site and one of another, the other sites taking turns.
std::vector<Arrow> TrunkSearch::scattered(std::size_t site, bool out) const {
  const auto far = others(_sites, site);
  std::vector<Arrow> flows;
  for (std::size_t i = 0; i < std::min(_sites[site].size(), far.size()); ++i)
    flows.push_back(out ? Arrow{_sites[site][i], far[i]} : Arrow{far[i], _sites[site][i]});
  return flows;
}

/// @param most the largest rate of the flows by what is known
void TrunkSearch::record(Gate& gate, Crowded result, Rate most) const {
  gate.rate = std::max(gate.rate, result.together);
  gate.full = filled(gate.rate, std::min(result.alone, most));
}

/// Runs a gate's crowd alone, twice if it isn't clear whether it filled a capacity.
void TrunkSearch::measure(Gate& gate, Rate most) const {
  if (gate.crowd.size() < 2 || _coordinator.clock() > _deadline) return;
  auto result = _crowds.run(gate.crowd);
  record(gate, result, most);
  const bool clear = gate.rate < std::min(result.alone, most) * surely_full;
  if (gate.full && !clear) record(gate, _crowds.run(gate.crowd), most);
}

void TrunkSearch::measure_gates() {
  for (std::size_t s = 0; s < _sites.size(); ++s) {
    const auto far = others(_sites, s);
    _leaving[s] = {"out of " + site_name(s), _sites[s], far, scattered(s, true)};
    _entering[s] = {"into " + site_name(s), far, _sites[s], scattered(s, false)};
    for (auto* gate : {&_leaving[s], &_entering[s]})
      std::ranges::sort(gate == &_leaving[s] ? gate->to : gate->from);
    measure(_leaving[s], by_others(s, true));
    measure(_entering[s], by_others(s, false));
    _coordinator.report.progress("uplinks", s + 1, _sites.size());
  }
}

/// Returns the rate that the trunks known so far allow from one site to another.
Rate TrunkSearch::limit(std::size_t from, std::size_t to) const {
  const auto of = [](const Gate& gate) { return gate.full ? gate.rate : Rate::infinity(); };
  return std::min(of(_leaving[from]), of(_entering[to]));
}

void TrunkSearch::measure_between() {
  const auto all = rounds(static_cast<HostId>(_sites.size()));
  std::size_t done = 0;
  for (const auto& round : all)
    for (const bool back : {false, true}) {
      std::vector<std::vector<Arrow>> crowds;
      std::vector<std::pair<std::size_t, std::size_t>> where;
      for (auto [first, second] : round) {
        const auto s = static_cast<std::size_t>(back ? second : first);
        const auto t = static_cast<std::size_t>(back ? first : second);
        auto& gate = between(s, t);
        gate = {site_name(s) + " to " + std::to_string(t), _sites[s], _sites[t], {}};
        for (std::size_t i = 0; i < std::min(_sites[s].size(), _sites[t].size()); ++i)
          gate.crowd.push_back({_sites[s][i], _sites[t][i]});
        if (gate.crowd.size() >= 2) crowds.push_back(gate.crowd), where.emplace_back(s, t);
      }
      if (crowds.empty() || _coordinator.clock() > _deadline) continue;
      // Runs all pairs of sites at once, then the ones that seem full again, alone.
      const auto results = _crowds.run(crowds, std::vector<double>(crowds.size(), 1));
      for (std::size_t c = 0; c < crowds.size(); ++c) {
        const auto [s, t] = where[c];
        auto& gate = between(s, t);
        record(gate, results[c], limit(s, t));
        const bool alone = crowds.size() == 1 && results[c].together != Rate(0);
        if ((gate.full && !alone) || results[c].together == Rate(0)) {
          gate.rate = Rate(0);
          measure(gate, limit(s, t));
        }
      }
      _coordinator.report.progress("trunks", ++done, 2 * all.size());
    }
}

/// Returns how many flows at once leave capacity in a gate.
std::size_t TrunkSearch::width(const Gate& gate) const {
  if (gate.rate == Rate(0)) return 1;
  if (gate.rate >= _crowds.alone(gate.crowd) * nearly_all) return gate.crowd.size();
  Rate fastest(0);
  for (auto flow : gate.crowd)
    fastest = std::max(fastest, single(flow));
  return std::max<std::size_t>(1, static_cast<std::size_t>(undisturbed * (gate.rate / fastest)));
}

void TrunkSearch::set_widths(Widths& widths) {
  std::ranges::transform(_between, widths.between.begin(),
                         [&](const Gate& gate) { return width(gate); });
  if (_sites.size() == 2) {
    widths.leaving = widths.entering = {width(between(0, 1)), width(between(1, 0))};
    std::ranges::reverse(widths.entering);
    return;
  }
  std::ranges::transform(_leaving, widths.leaving.begin(),
                         [&](const Gate& gate) { return width(gate); });
  std::ranges::transform(_entering, widths.entering.begin(),
                         [&](const Gate& gate) { return width(gate); });
}

/// Returns the rate of a site's crowd if only the trunks between sites limited it.
Rate TrunkSearch::by_others(std::size_t site, bool out) {
  const auto& crowd = out ? _leaving[site].crowd : _entering[site].crowd;
  Rate sum(0);
  for (std::size_t other = 0; other < _sites.size(); ++other) {
    if (other == site) continue;
    const auto& gate = out ? between(site, other) : between(other, site);
    Rate alone(0);
    for (auto flow : crowd)
      if (std::ranges::find(_sites[other], out ? flow.to : flow.from) != _sites[other].end())
        alone += single(flow);
    sum += gate.full ? std::min(gate.rate, alone) : alone;
  }
  return sum;
}

void TrunkSearch::drop_explained() {
  for (std::size_t s = 0; s < _sites.size() && _sites.size() > 2; ++s) {
    auto &up = _leaving[s], &down = _entering[s];
    up.full = up.full && by_others(s, true) > up.rate * explained;
    down.full = down.full && by_others(s, false) > down.rate * explained;
  }
}

/// Runs more, or fewer, flows of a gate's crowd until they are just enough to fill it.
class Filling {
public:
  Filling(const Coordinator& coordinator, const Crowds& crowds, const Gate& gate,
          Nanoseconds deadline)
      : _coordinator(coordinator), _crowds(crowds), _gate(gate), _deadline(deadline) {}

  /// Sets the trunk's capacity, and the fewest senders that get nearly all of it. With more senders
  /// segments get lost, which makes their rate hard to tell.
  void find(network::Trunk& trunk) {
    const auto most = _gate.crowd.size();
    const double fill = _gate.rate * static_cast<double>(most) / alone(most);
    auto n = std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(fill)), 1, most);
    while (n < most && !fills(n))
      ++n;
    while (n > 1 && fills(n - 1))
      --n;
    const Rate fewer = n > 1 ? rate(n - 1) : Rate(0);
    trunk.capacity = std::max(rate(n), fewer);
    trunk.senders = static_cast<std::int32_t>(fewer >= trunk.capacity * enough ? n - 1 : n);
  }

private:
  /// Returns the sum of the rates of the first n flows alone.
  [[nodiscard]] Rate alone(std::size_t n) const {
    return _crowds.alone(std::span(_gate.crowd).first(n));
  }
  /// Returns their rate together, as far as time allows to measure it.
  [[nodiscard]] Rate rate(std::size_t n) {
    const auto [known, is_new] = _known.try_emplace(n);
    if (!is_new) return known->second;
    const std::vector<Arrow> some(_gate.crowd.begin(),
                                  _gate.crowd.begin() + static_cast<std::ptrdiff_t>(n));
    const double fair = std::min(1.0, _gate.rate / alone(n));
    const Rate expected = std::min(alone(n), _gate.rate);
    Rate best(0);
    // A lost segment at the wrong time reduces the rate, hardly ever increases it.
    for (int attempt = 0; attempt < 2 && best < expected * nearly_all; ++attempt)
      if (n > 1 && _coordinator.clock() < _deadline)
        best = std::max(best, _crowds.run({&some, 1}, {&fair, 1}).front().together);
    return known->second = best > Rate(0) ? best : expected;
  }
  [[nodiscard]] bool fills(std::size_t n) { return rate(n) < alone(n) * nearly_all; }

  const Coordinator& _coordinator;
  const Crowds& _crowds;
  const Gate& _gate;
  Nanoseconds _deadline;
  std::map<std::size_t, Rate> _known;
};

network::Trunk TrunkSearch::trunk_of(const Gate& gate) const {
  network::Trunk trunk{gate.name, gate.from, gate.to, gate.rate};
  Filling(_coordinator, _crowds, gate, _deadline).find(trunk);
  return trunk;
}

} // namespace

Trunks measure_trunks(Coordinator& coordinator, const Crowds& crowds, const Sites& sites,
                      double share) {
  return TrunkSearch(coordinator, crowds, sites, share).find();
}

} // namespace thalweg::probe
