#include "probe/capacities.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace thalweg::probe {
namespace {

/// Decides which flows of stars can run beside each other: no host but a hub is in two, and no more
/// run inside or between sites than the widths allow.
class Packing {
public:
  Packing(const Sites& sites, const Widths& widths)
      : _site(sites), _sites(sites.size()), _widths(widths), _used(_site.hosts()), _inside(_sites),
        _leaving(_sites), _entering(_sites), _between(_sites * _sites),
        _joint(widths.joint.size()) {}

  [[nodiscard]] bool used(HostId host) const { return _used[static_cast<std::size_t>(host)]; }
  void use(HostId host) { _used[static_cast<std::size_t>(host)] = true; }
  [[nodiscard]] bool fits(Flow flow) const {
    const auto [s, t] = _site(flow);
    for (std::size_t j = 0; j < _joint.size(); ++j)
      if (_joint[j] >= _widths.joint[j].most && _widths.joint[j].carries(flow)) return false;
    if (s == t) return _inside[s] < 2 * _widths.inside[s];
    return _leaving[s] < _widths.leaving[s] && _entering[t] < _widths.entering[t] &&
           _between[s * _sites + t] < _widths.between[s * _sites + t];
  }
  void add(Flow flow) {
    change(flow, [](std::size_t& flows) { ++flows; });
  }
  void remove(Flow flow) {
    change(flow, [](std::size_t& flows) { --flows; });
  }

private:
  template <class Change>
  void change(Flow flow, Change by_one) {
    const auto [s, t] = _site(flow);
    if (s == t)
      by_one(_inside[s]);
    else
      by_one(_leaving[s]), by_one(_entering[t]), by_one(_between[s * _sites + t]);
    for (std::size_t j = 0; j < _joint.size(); ++j)
      if (_widths.joint[j].carries(flow)) by_one(_joint[j]);
  }

  SiteOf _site;
  std::size_t _sites;
  const Widths& _widths;
  std::vector<bool> _used;
  std::vector<std::size_t> _inside, _leaving, _entering, _between, _joint;
};

/// A host whose capacity is being measured.
struct Hub {
  HostId host = 0;
  std::size_t count = 2;   ///< flows to try next
  std::vector<Flow> flows; ///< all candidates
  bool is_again = false;   ///< since its flows didn't run at the same time
};

/// Returns the other hosts, the host's own site first, rotated to begin after it, so that not all
/// hosts measure with the same one. Those of other sites take turns: what flows to one of them
/// share would look like the host's own capacity.
std::vector<HostId> neighbours(HostId host, const Sites& sites) {
  std::vector<HostId> near;
  std::vector<std::pair<std::size_t, HostId>> far; // by the place in their site
  for (const auto& site : sites) {
    const auto self = std::ranges::find(site, host);
    if (self != site.end()) {
      near.insert(near.end(), self + 1, site.end());
      near.insert(near.end(), site.begin(), self);
      continue;
    }
    for (std::size_t i = 0; i < site.size(); ++i)
      far.emplace_back((i + static_cast<std::size_t>(host)) % site.size(), site[i]);
  }
  std::ranges::stable_sort(far, {}, [](const auto& each) { return each.first; });
  for (const auto& [place, other] : far)
    near.push_back(other);
  return near;
}

class CapacitySearch {
public:
  CapacitySearch(Prober& prober, const Crowds& crowds, const Sites& sites, const Widths& widths,
                 Nanoseconds deadline, bool out)
      : _prober(prober), _crowds(crowds), _sites(sites), _widths(widths), _deadline(deadline),
        _out(out), _capacity(static_cast<std::size_t>(prober.hosts()), Rate(0)),
        _carried(_capacity) {
    for (HostId host = 0; host < prober.hosts(); ++host)
      if (Hub hub{host, 2, flows_of(host)}; hub.flows.size() >= 2) _hubs.push_back(std::move(hub));
  }

  /// Returns capacities by host. Those for which there was no time are said, and get the median of
  /// the others, or what they were seen to carry if that is more.
  std::vector<Rate> find() {
    const std::string what = _out ? "egress" : "ingress";
    const auto all = _hubs.size();
    while (!_hubs.empty() && _prober.clock() < _deadline) {
      step();
      _prober.progress(what, all - _hubs.size(), all);
    }
    if (!_hubs.empty())
      _prober.note("the time budget allowed to measure the " + what + " of " +
                   std::to_string(all - _hubs.size()) + " of " + std::to_string(all) +
                   " hosts; the others are taken to be like them");
    fill();
    return _capacity;
  }

private:
  [[nodiscard]] std::vector<Flow> flows_of(HostId host) const {
    std::vector<Flow> flows;
    for (HostId peer : neighbours(host, _sites)) {
      const Flow flow = _out ? Flow{host, peer} : Flow{peer, host};
      if (_crowds.bandwidths().rate(flow.from, flow.to) > Rate(0)) flows.push_back(flow);
    }
    return flows;
  }
  [[nodiscard]] HostId leaf(Flow flow) const { return _out ? flow.to : flow.from; }

  /// Returns the hub's next flows, as far as they fit. Leaves the packing as it is: a copy for each
  /// hub would take O(sites²).
  [[nodiscard]] std::vector<Flow> star(const Hub& hub, Packing& packing) const {
    std::vector<Flow> result;
    for (auto flow : hub.flows) {
      if (result.size() == hub.count) break;
      if (packing.used(leaf(flow)) || !packing.fits(flow)) continue;
      packing.add(flow);
      result.push_back(flow);
    }
    for (auto flow : result)
      packing.remove(flow);
    return result;
  }

  /// Measures as many hubs at once as fit; the first one in any case.
  void step() {
    Packing packing(_sites, _widths);
    std::vector<std::vector<Flow>> stars;
    std::vector<std::size_t> which;
    for (std::size_t h = 0; h < _hubs.size(); ++h) {
      const Hub& hub = _hubs[h];
      if (packing.used(hub.host)) continue;
      const auto wanted = std::min(hub.count, hub.flows.size());
      auto flows = star(hub, packing);
      if (flows.size() < wanted && !stars.empty()) continue;
      if (flows.size() < wanted)
        flows.assign(hub.flows.begin(), hub.flows.begin() + static_cast<std::ptrdiff_t>(wanted));
      packing.use(hub.host);
      for (auto flow : flows)
        packing.use(leaf(flow)), packing.add(flow);
      stars.push_back(std::move(flows));
      which.push_back(h);
    }
    const auto results = _crowds.run(stars);
    for (std::size_t i = which.size(); i-- > 0;)
      settle(which[i], results[i].together, _crowds.alone(stars[i]));
  }

  void settle(std::size_t index, Rate together, Rate alone) {
    Hub& hub = _hubs[index];
    const auto erase = [&] { _hubs.erase(_hubs.begin() + static_cast<std::ptrdiff_t>(index)); };
    // One of the flows began when another one had ended, as after a lost message: that says
    // nothing.
    const bool was_again = std::exchange(hub.is_again, together == Rate(0));
    if (hub.is_again) {
      if (was_again) erase();
      return;
    }
    auto& capacity = _capacity[static_cast<std::size_t>(hub.host)];
    const bool found = filled(together, alone);
    auto& carried = _carried[static_cast<std::size_t>(hub.host)];
    carried = std::max(carried, together);
    if (found) capacity = together;
    if (!found && hub.count >= hub.flows.size()) capacity = Rate::infinity();
    hub.count *= 2;
    if (capacity != Rate(0)) erase();
  }

  void fill() {
    std::vector<double> known;
    for (Rate rate : _capacity)
      if (rate != Rate(0)) known.push_back(rate.value());
    const Rate guess = known.empty() ? Rate::infinity() : Rate(median(known));
    for (std::size_t host = 0; host < _capacity.size(); ++host)
      if (_capacity[host] == Rate(0)) _capacity[host] = std::max(guess, _carried[host]);
  }

  Prober& _prober;
  const Crowds& _crowds;
  const Sites& _sites;
  const Widths& _widths;
  Nanoseconds _deadline;
  bool _out;
  std::vector<Rate> _capacity; ///< by host; zero: not measured
  std::vector<Rate> _carried;  ///< by host: most that its flows got together
  std::vector<Hub> _hubs;
};

} // namespace

Capacities measure_capacities(Prober& prober, const Crowds& crowds, const Sites& sites,
                              const Widths& widths, double share) {
  const auto deadline = prober.deadline(share);
  const auto halfway = (prober.clock() + deadline) / 2;
  Capacities result;
  result.egress = CapacitySearch(prober, crowds, sites, widths, halfway, true).find();
  result.ingress = CapacitySearch(prober, crowds, sites, widths, deadline, false).find();
  return result;
}

} // namespace thalweg::probe
