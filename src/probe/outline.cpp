#include "probe/outline.hpp"

#include "probe/flows.hpp"
#include "probe/pace.hpp"
#include "probe/prober.hpp"
#include "probe/rounds.hpp"
#include "probe/shifts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace thalweg::probe {
namespace {

using network::Network;

/// Round trips of a pair's turn: to meet, to learn that it is over, and to open its connection.
constexpr double meeting = 2, connecting = 4;
/// Streams are somewhat longer than necessary.
constexpr double margin = 1.2;
/// Crowds for a trunk: until it is known which flows fill it, whose flows share it besides, and how
/// many senders it takes.
constexpr std::size_t runs_per_trunk = 5;

class Outline {
public:
  Outline(const Network& network, Time budget)
      : _network(network), _budget(budget), _sites(network.sites) {
    if (!_sites.empty()) return;
    _sites.emplace_back(network.hosts.size());
    std::iota(_sites[0].begin(), _sites[0].end(), 0);
  }

  std::vector<Phase> phases() {
    if (_network.size() < 2) return {};
    latency();
    costs();
    FlowQueue queue(_sites);
    sample(queue);
    trunks();
    capacities();
    queue.set_widths(_widths);
    rest(queue);
    repeats();
    return _phases;
  }

private:
  [[nodiscard]] Time round_trip(HostId a, HostId b) const {
    return _network.latency(a, b) + _network.latency(b, a);
  }
  [[nodiscard]] static Nanoseconds nanoseconds(Time time) {
    return static_cast<Nanoseconds>(time.value() * 1e9);
  }
  /// Returns the time of orders to `ranks` ranks, and their replies.
  [[nodiscard]] Time order_time(std::size_t ranks) const {
    return _farthest + Time(1e-9 * ordering * static_cast<double>(ranks));
  }
  [[nodiscard]] Time flow_time(Flow flow) const {
    const auto trip = nanoseconds(round_trip(flow.from, flow.to));
    const Time steady(margin * 1e-9 * static_cast<double>(slow_start(trip) + long_enough(trip, 1)));
    const Time least(fewest_bytes / _network.bandwidth(flow.from, flow.to).value());
    return std::max(steady, least);
  }
  [[nodiscard]] Time crowd_time(Time round_trip) const {
    return Time(1e-9 * static_cast<double>(long_enough_for_crowd(nanoseconds(round_trip), 1))) +
           round_trip;
  }
  [[nodiscard]] Time longest(const std::vector<Flow>& crowd) const {
    Time trip(0);
    for (auto [from, to] : crowd)
      trip = std::max(trip, round_trip(from, to));
    return trip;
  }
  /// Adds a phase, which takes no longer than its share allows.
  void add(Phase phase, double share) {
    const Time left = std::max(_budget * share - _spent, Time(0));
    if (phase.time > left && phase.time > Time(0)) {
      const double part = left / phase.time;
      phase.measured = static_cast<std::size_t>(part * static_cast<double>(phase.measured));
      phase.time = left;
    }
    _spent += phase.time;
    _phases.push_back(std::move(phase));
  }

  void latency();
  void costs();
  void sample(FlowQueue& queue);
  void trunks();
  void rest(FlowQueue& queue);
  void flows(FlowQueue& queue, const std::string& name, double share);
  void repeats();
  void capacities();
  [[nodiscard]] std::size_t wanted(std::size_t from, std::size_t to, bool all) const;

  const Network& _network;
  Time _budget, _spent{}, _farthest{};
  Sites _sites;
  Widths _widths{1};
  std::vector<Phase> _phases;
};

void Outline::latency() {
  const auto hosts = _network.size();
  Time turns(0);
  for (HostId a = 0; a < hosts; ++a)
    for (HostId b = a + 1; b < hosts; ++b) {
      const Time trip = round_trip(a, b);
      turns += trip * meeting + std::max(least_turn, trip);
      if (a == 0) _farthest = std::max(_farthest, trip);
    }
  const auto all = count_of_rounds(hosts);
  const auto pairs = static_cast<std::size_t>(hosts) * static_cast<std::size_t>(hosts - 1) / 2;
  const auto measured = affordable_rounds(all, _budget * latency_ends);
  const auto batches = (measured + rounds_at_once - 1) / rounds_at_once;
  Phase phase{"latency", pairs * measured / all, pairs, measured, pairs / all, {}};
  phase.time = turns * (static_cast<double>(measured) / static_cast<double>(pairs)) +
               (_farthest * connecting + order_time(static_cast<std::size_t>(hosts))) *
                   static_cast<double>(batches);
  add(std::move(phase), latency_ends);
}

void Outline::costs() {
  const Time searching(0.3);
  add({"message costs", 1, 1, 1, 1, searching + round_trip(0, 1) * 100}, sample_ends);
}

/// Returns the flows to measure between two sites; if links are alike, not all are needed.
std::size_t Outline::wanted(std::size_t from, std::size_t to, bool all) const {
  const auto reach = std::max(_sites[from].size(), _sites[to].size());
  Rate least = Rate::infinity(), best(0);
  for (HostId a : _sites[from])
    for (HostId b : _sites[to]) {
      if (a == b) continue;
      least = std::min(least, _network.bandwidth(a, b));
      best = std::max(best, _network.bandwidth(a, b));
    }
  const bool alike = best <= least * 1.1;
  if (!all) return alike ? sampled_flows(_sites.size(), from == to) : reach;
  return alike ? std::max(few_flows, 2 * reach) : std::numeric_limits<std::size_t>::max();
}

void Outline::sample(FlowQueue& queue) {
  for (std::size_t s = 0; s < _sites.size(); ++s)
    for (std::size_t t = 0; t < _sites.size(); ++t)
      queue.limit(s, t, wanted(s, t, false));
  flows(queue, "bandwidth: a sample", sample_ends);
}

void Outline::rest(FlowQueue& queue) {
  for (std::size_t s = 0; s < _sites.size(); ++s)
    for (std::size_t t = 0; t < _sites.size(); ++t)
      queue.limit(s, t, wanted(s, t, true));
  flows(queue, "bandwidth: the rest", rest_ends);
}

void Outline::flows(FlowQueue& queue, const std::string& name, double share) {
  Phase phase{name, 0, queue.waiting(), 0, 0, {}};
  while (_spent + phase.time < _budget * share) {
    const auto running = queue.start();
    if (running.empty()) break;
    Time longest(0);
    for (auto flow : running)
      longest = std::max(longest, flow_time(flow)), queue.finish(flow);
    phase.measured += running.size(), phase.rounds += 1;
    phase.time += longest + order_time(2 * running.size());
    phase.at_once = std::max(phase.at_once, running.size());
  }
  phase.of =
      static_cast<std::size_t>(_network.size()) * static_cast<std::size_t>(_network.size() - 1);
  add(std::move(phase), share);
}

void Outline::trunks() {
  const auto count = _sites.size();
  _widths = Widths(count);
  for (std::size_t s = 0; s < count; ++s) {
    _widths.inside[s] = std::max<std::size_t>(1, _sites[s].size() / 2);
    _widths.leaving[s] = _widths.entering[s] = _sites[s].size();
    for (std::size_t t = 0; t < count; ++t)
      _widths.between[s * count + t] = std::min(_sites[s].size(), _sites[t].size());
  }
  Phase phase{"trunks", 0, 0, 0, 0, {}};
  const auto add_runs = [&](std::size_t flows, Time trip, std::size_t runs) {
    phase.measured += 1, phase.rounds += runs;
    phase.at_once = std::max(phase.at_once, flows);
    phase.time += (crowd_time(trip) + order_time(2 * flows)) * static_cast<double>(runs);
  };
  for (const auto& crowds : {shifts_inside(_sites), shifts_between(_sites)})
    for (const auto& crowd : crowds)
      add_runs(crowd.size(), longest(crowd), 1);
  for (const auto& trunk : _network.trunks)
    add_runs(std::min(trunk.from.size(), trunk.to.size()),
             round_trip(trunk.from.front(), trunk.to.front()), runs_per_trunk);
  phase.of = phase.measured;
  add(std::move(phase), trunks_end);
}

void Outline::repeats() {
  const Time one = flow_time({0, _network.size() - 1}) + order_time(2);
  add({"bandwidth: some again, alone", repeated_flows, repeated_flows, repeated_flows, 1,
       one * static_cast<double>(repeated_flows)},
      repeats_end);
}

void Outline::capacities() {
  constexpr std::size_t star = 3; // a hub and two others
  std::size_t at_once = 0;
  for (const auto& site : _sites)
    at_once += std::max<std::size_t>(1, site.size() / star);
  const auto hosts = static_cast<std::size_t>(_network.size());
  const auto runs = 2 * ((hosts + at_once - 1) / at_once);
  const bool lone =
      std::ranges::any_of(_sites, [](const auto& site) { return site.size() < star; });
  const Time trip = lone ? _farthest : round_trip(0, 1);
  add({"capacities of hosts", hosts, hosts, runs, at_once,
       (crowd_time(trip) + order_time(star * at_once)) * static_cast<double>(runs)},
      capacities_end);
}

} // namespace

std::size_t sampled_flows(std::size_t sites, bool inside) {
  return inside ? few_flows : std::clamp<std::size_t>(2 * few_flows / sites, 1, few_flows);
}

Time usual_time(HostId hosts) {
  constexpr double few = 16, many = 128;
  const double part = std::clamp((static_cast<double>(hosts) - few) / (many - few), 0.0, 1.0);
  return Time(9 + 10 * part);
}

std::vector<Phase> outline(const Network& network, Time budget) {
  return Outline(network, budget).phases();
}

} // namespace thalweg::probe
