#include "probe/bandwidth.hpp"

#include "probe/outline.hpp"
#include "probe/rate_model.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thalweg::probe {
namespace {

constexpr double tolerance = 0.1;
constexpr int most_bursts = 6;
/// Bursts that are long enough though not steady: others flow at the same time, and more of them
/// don't help.
constexpr int most_unsteady = 2;
constexpr double fastest_growth = 8;
/// Messages of a stream whose rate is not known.
constexpr Size most_messages = 128;

/// Flows are alike if the fastest exceeds the slowest by no more than this fraction, not counting
/// one in twenty at either end.
constexpr double likeness = 0.1;
constexpr double odd = 0.05;
/// Flows of an ordered pair of sites that show what they have in common. Fewer than `few_flows` are
/// alike too often by chance; a lone trunk that they fill one by one needs no more than these.
constexpr std::size_t fewest_flows = 2;
/// Flows fill a trunk one by one if more than this fraction of them get its capacity.
constexpr double nearly_all = 0.75;
/// Slow flows of an ordered pair of sites that are measured again.
constexpr std::size_t most_repeats = 2;
/// Flows disturb each other if this fraction of the repeated ones differs by more than the
/// tolerance.
constexpr double disturbed_share = 0.25;

double bytes_of(Pace pace) { return static_cast<double>(pace.count * pace.size); }

} // namespace

BandwidthProbe::BandwidthProbe(Prober& prober, const Latencies& latencies, const Sites& sites,
                               Size eager_limit)
    : _prober(prober), _latencies(latencies), _sites(sites), _eager_limit(eager_limit),
      _queue(sites),
      _site(sites), _result{Matrix<Rate>(_site.hosts()),
                            Matrix<float>(_site.hosts(), std::numeric_limits<float>::infinity())},
      _last_step(_site.hosts()), _unsteady(_site.hosts()) {
  for (std::size_t s = 0; s < sites.size(); ++s)
    for (std::size_t t = 0; t < sites.size(); ++t)
      _pairs.push_back({s, t, std::max(sites[s].size(), sites[t].size()), {}, 0, false});
}

BandwidthProbe::PairState& BandwidthProbe::pair_of(Flow flow) {
  const auto [from, to] = _site(flow);
  return _pairs[from * _sites.size() + to];
}

Nanoseconds BandwidthProbe::needed_time(Flow flow) const {
  constexpr double margin = 1.2;
  const auto round_trip = _latencies.round_trip(flow.from, flow.to);
  return static_cast<Nanoseconds>(
      margin *
      static_cast<double>(slow_start(round_trip) + long_enough(round_trip, _prober.dilation())));
}

/// Returns the pace that sufficed for a flow between the same sites, else one that suffices at the
/// fastest rate so far.
Pace& BandwidthProbe::first_pace(Flow flow) {
  const double bytes = 1e-9 * static_cast<double>(needed_time(flow)) * _fastest.value();
  return _first_pace.try_emplace(&pair_of(flow), pace_for(bytes, _eager_limit, most_messages))
      .first->second;
}

bool BandwidthProbe::alike(const PairState& pair) const {
  if (pair.measured.empty()) return true;
  std::vector<Rate> rates;
  for (auto [from, to] : pair.measured)
    rates.push_back(_result.rate(from, to));
  std::ranges::sort(rates);
  const auto ends = static_cast<std::size_t>(odd * static_cast<double>(rates.size()));
  return rates[rates.size() - 1 - ends] <= rates[ends] * (1 + likeness);
}

void BandwidthProbe::limit(const PairState& pair, std::size_t most) {
  _queue.limit(pair.from, pair.to, most);
}

void BandwidthProbe::sample(double share) {
  for (const auto& pair : _pairs)
    limit(pair, sampled_flows(_sites.size(), pair.from == pair.to));
  run(_prober.deadline(share));
  repeat_odd(_prober.deadline(share));
  for (const auto& pair : _pairs)
    if (!alike(pair)) limit(pair, pair.reach);
  run(_prober.deadline(share));
}

std::optional<Flow> BandwidthProbe::odd_one(const PairState& pair,
                                            const Capacities& fastest) const {
  if (pair.confirmed || pair.repeats == most_repeats || pair.measured.empty()) return {};
  const auto rate = [&](Flow flow) { return _result.rate(flow.from, flow.to); };
  const auto [slowest, best] = std::ranges::minmax_element(pair.measured, {}, rate);
  const Rate expected = pair.measured.size() > 1 ? rate(*best)
                                                 : std::min(fastest.egress[index(slowest->from)],
                                                            fastest.ingress[index(slowest->to)]);
  if (rate(*slowest) * (1 + likeness) >= expected) return {};
  return *slowest;
}

void BandwidthProbe::repeat_odd(Nanoseconds deadline) {
  for (;;) {
    std::vector<Flow> odd;
    const auto fastest = fastest_flows(_result.rate);
    for (auto& pair : _pairs)
      if (const auto flow = odd_one(pair, fastest)) odd.push_back(*flow), ++pair.repeats;
    if (odd.empty() || _prober.clock() >= deadline) return;
    const auto before = _result;
    for (auto flow : odd)
      put_back(flow);
    run(deadline);
    for (auto flow : odd) {
      const Rate rate = before.rate(flow.from, flow.to), again = _result.rate(flow.from, flow.to);
      pair_of(flow).confirmed = again != Rate(0) && again <= rate * (1 + likeness);
      if (again == Rate(0) || again < rate) restore(flow, before);
    }
  }
}

/// Whether flows fill the joint capacity one by one: what nearly all of them get is the capacity.
bool BandwidthProbe::is_narrow(const Widths::Joint& joint) const {
  std::size_t carried = 0, filling = 0;
  for (const auto& pair : _pairs)
    for (auto flow : pair.measured) {
      if (!joint.carries(flow)) continue;
      ++carried;
      if (_result.rate(flow.from, flow.to) * (1 + likeness) >= joint.capacity) ++filling;
    }
  return static_cast<double>(filling) > nearly_all * static_cast<double>(carried);
}

void BandwidthProbe::measure_rest(const Widths& widths, const std::vector<Flow>& seen,
                                  double share) {
  put_back(widths, [](const auto& joint, std::size_t flows, Rate /*together*/) {
    return flows > joint.most;
  });
  _queue.set_widths(widths);
  const auto sampled = _result.error;
  std::map<const PairState*, std::size_t> known;
  std::vector<Flow> inferred;
  for (auto flow : seen)
    if (!_result.measured(flow.from, flow.to)) ++known[&pair_of(flow)], inferred.push_back(flow);
  _queue.postpone(inferred);
  // If time ends, something is known about each pair of sites.
  for (const auto& pair : _pairs)
    limit(pair, 1);
  run(_prober.deadline(share));
  constexpr std::size_t most_times = 2; // flows of each host between two sites
  for (std::size_t times = 0; times <= most_times; ++times) {
    std::vector<const Widths::Joint*> filled;
    for (const auto& joint : widths.joint)
      if (is_narrow(joint)) filled.push_back(&joint);
    for (const auto& pair : _pairs) {
      const Flow flow{_sites[pair.from].back(), _sites[pair.to].front()};
      const bool narrow =
          std::ranges::any_of(filled, [&](const auto* joint) { return joint->carries(flow); });
      const auto wanted = narrow ? fewest_flows : times * pair.reach;
      const auto least = narrow || times < most_times ? fewest_flows : few_flows;
      limit(pair, std::max(wanted - std::min(wanted, known[&pair]), least));
    }
    run(_prober.deadline(share));
  }
  for (const auto& pair : _pairs)
    if (!alike(pair)) limit(pair, std::numeric_limits<std::size_t>::max());
  run(_prober.deadline(share));
  for (auto& pair : _pairs)
    pair.repeats = 0, pair.confirmed = false;
  repeat_odd(_prober.deadline(share));
  for (const auto& pair : _pairs)
    for (auto flow : pair.measured)
      if (!std::isfinite(sampled(flow.from, flow.to))) _rest.push_back(flow);
  note_missing();
}

void BandwidthProbe::repeat_alone(double share) {
  const auto deadline = _prober.deadline(share);
  std::vector<double> differences;
  const auto repeated = std::min(repeated_flows, _rest.size());
  for (std::size_t k = 0; k < repeated && _prober.clock() < deadline; ++k) {
    const auto flow = _rest[k * _rest.size() / repeated];
    const Rate before = _result.rate(flow.from, flow.to);
    _running = {{flow, first_pace(flow)}};
    while (!_running.empty())
      step();
    differences.push_back(std::abs(_result.rate(flow.from, flow.to) / before - 1));
  }
  _result.repeated = differences.size();
  if (differences.empty()) return;
  _result.disturbance = median(differences);
  const auto unlike = std::ranges::count_if(differences, [](double d) { return d > tolerance; });
  if (static_cast<double>(unlike) <= disturbed_share * static_cast<double>(repeated)) return;
  _prober.note("flows that were measured at the same time disturbed each other: "
               "measuring them again, one at a time");
  const auto known = _result;
  for (auto flow : _rest)
    _queue.put_back(flow);
  _queue.set_widths(Widths(_sites.size()));
  run(deadline);
  restore_unmeasured(_rest, known);
}

void BandwidthProbe::measure_alone(std::span<const Flow> flows, double share) {
  for (auto flow : flows) {
    _running = {{flow, first_pace(flow)}};
    while (!_running.empty())
      step();
    if (_prober.clock() >= _prober.deadline(share)) return;
  }
}

void BandwidthProbe::repeat_disturbed(const std::vector<network::Trunk>& trunks, double share) {
  Widths widths(_sites.size());
  for (const auto& trunk : trunks)
    widths.joint.push_back({{trunk.from, trunk.to}, 1, trunk.capacity});
  const auto before = _result;
  const auto disturbed = put_back(widths, [](const auto& joint, std::size_t flows, Rate together) {
    return flows > 1 && together > joint.capacity * undisturbed_share;
  });
  _queue.set_widths(std::move(widths));
  run(_prober.deadline(share));
  restore_unmeasured(disturbed, before);
}

Bandwidths BandwidthProbe::result() const {
  Bandwidths result = _result;
  // What a flow had reached between two sites says more about them than flows between others.
  for (const auto& pair : _pairs) {
    if (!pair.measured.empty()) continue;
    for (HostId from : _sites[pair.from])
      for (HostId to : _sites[pair.to])
        result.rate(from, to) = _unsteady(from, to);
  }
  infer(result.rate, _sites);
  return result;
}

void BandwidthProbe::note_missing() const {
  const auto hosts = _site.hosts();
  std::size_t measured = 0;
  for (const auto& pair : _pairs)
    measured += pair.measured.size();
  if (_queue.waiting() > 0)
    _prober.note("the time budget allowed to measure the bandwidth of " + std::to_string(measured) +
                 " of " + std::to_string(hosts * (hosts - 1)) +
                 " directed pairs; the others are inferred");
}

void BandwidthProbe::run(Nanoseconds deadline) {
  const auto total = _queue.waiting();
  // At least once, since everything unmeasured is inferred from measured flows.
  for (bool first = knows_too_little(); first || _prober.clock() < deadline; first = false) {
    for (auto flow : _queue.start())
      _running.push_back({flow, first_pace(flow)});
    if (_running.empty()) break;
    for (auto flow : step())
      _queue.finish(flow);
    const auto left = _queue.waiting() + _running.size();
    _prober.progress("bandwidth", total - std::min(left, total), total);
  }
  for (const auto& trial : _running) {
    _queue.finish(trial.flow);
    forget_if_unsteady(trial.flow);
    if (!_result.measured(trial.flow.from, trial.flow.to)) _queue.put_back(trial.flow);
  }
  _running.clear();
}

/// Whether nothing is known about two sites, or about the hosts of one. A step after the deadline
/// begins anew with short bursts, and tells no more than the last one did.
bool BandwidthProbe::knows_too_little() const {
  return std::ranges::any_of(_pairs, [&](const PairState& pair) {
    const auto is_known = [&](HostId from, HostId to) { return _unsteady(from, to) > Rate(0); };
    const auto knows = [&](HostId from) {
      return std::ranges::any_of(_sites[pair.to], [&](HostId to) { return is_known(from, to); });
    };
    const bool has_flows = pair.from != pair.to || _sites[pair.from].size() > 1;
    return has_flows && pair.measured.empty() && std::ranges::none_of(_sites[pair.from], knows);
  });
}

std::vector<Flow> BandwidthProbe::step() {
  std::vector<Burst> bursts;
  auto& together = _steps.emplace_back();
  for (const auto& trial : _running) {
    const auto [from, to] = trial.flow;
    together.push_back(trial.flow);
    _last_step(from, to) = _steps.size() - 1;
    bursts.push_back({from, to, trial.pace.count, trial.pace.size, 2 * needed_time(trial.flow)});
  }
  const auto received = _prober.transfer(bursts, "measuring bandwidth");
  std::vector<Trial> unfinished;
  std::vector<Flow> finished;
  for (std::size_t i = 0; i < received.size(); ++i)
    if (settle(_running[i], received[i]))
      finished.push_back(_running[i].flow);
    else
      unfinished.push_back(_running[i]);
  _running = std::move(unfinished);
  return finished;
}

std::vector<Flow> BandwidthProbe::put_back(const Widths& widths, Crowded crowded) {
  std::vector<Flow> disturbed;
  for (std::size_t step = 0; step < _steps.size(); ++step)
    for (const auto& joint : widths.joint) {
      std::vector<Flow> carried;
      Rate together(0);
      for (auto flow : _steps[step])
        if (joint.carries(flow))
          carried.push_back(flow), together += _result.rate(flow.from, flow.to);
      if (!crowded(joint, carried.size(), together)) continue;
      for (auto flow : carried)
        if (_last_step(flow.from, flow.to) == step && _result.measured(flow.from, flow.to))
          disturbed.push_back(flow);
    }
  std::erase_if(disturbed, [&](Flow flow) {
    const bool is_again = !_result.measured(flow.from, flow.to); // carried by several
    if (!is_again) put_back(flow);
    return is_again;
  });
  return disturbed;
}

void BandwidthProbe::put_back(Flow flow) {
  forget(flow);
  _queue.put_back(flow);
}

void BandwidthProbe::restore(Flow flow, const Bandwidths& before) {
  auto& rate = _result.rate(flow.from, flow.to);
  if (rate == Rate(0)) pair_of(flow).measured.push_back(flow);
  rate = before.rate(flow.from, flow.to);
  _result.error(flow.from, flow.to) = before.error(flow.from, flow.to);
}

/// Time may have ended before a flow that was measured again was steady.
void BandwidthProbe::restore_unmeasured(std::span<const Flow> flows, const Bandwidths& before) {
  for (auto flow : flows)
    if (!_result.measured(flow.from, flow.to)) restore(flow, before);
}

void BandwidthProbe::forget(Flow flow) {
  _result.rate(flow.from, flow.to) = Rate(0);
  _result.error(flow.from, flow.to) = std::numeric_limits<float>::infinity();
  std::erase(pair_of(flow).measured, flow);
}

/// Discards a rate measured before the flow was steady: inferring it from other flows is more
/// accurate.
void BandwidthProbe::forget_if_unsteady(Flow flow) {
  if (std::isfinite(_result.error(flow.from, flow.to))) return;
  _unsteady(flow.from, flow.to) = _result.rate(flow.from, flow.to);
  forget(flow);
}

/// Records the result of a burst; returns whether it is good enough, else the next one will be
/// longer.
bool BandwidthProbe::settle(Trial& trial, const FlowArrivals& received) {
  const auto [from, to] = trial.flow;
  const auto round_trip = _latencies.round_trip(from, to);
  const auto skip = slow_start(round_trip), wanted = long_enough(round_trip, _prober.dilation());
  const auto [rate, drift, length] = steady_rate(received.arrivals, received.message, skip);
  if (_result.rate(from, to) == Rate(0)) pair_of(trial.flow).measured.push_back(trial.flow);
  _result.rate(from, to) = Rate(rate.value);
  _result.error(from, to) = static_cast<float>(rate.error);
  // A burst that ends within the slow start tells how fast the last window arrived.
  if (std::isfinite(rate.error)) _fastest = std::max(_fastest, Rate(rate.value));
  const double bytes = bytes_of(trial.pace);
  const bool enough = length >= wanted || bytes >= most_bytes;
  const double needed = 1e-9 * static_cast<double>(needed_time(trial.flow)) * rate.value;
  const bool is_done = enough && (drift <= tolerance || ++trial.unsteady == most_unsteady);
  if (is_done || ++trial.bursts == most_bursts) {
    // The pace that sufficed for this flow is a good start for others between the same sites.
    first_pace(trial.flow) = pace_for(std::min(needed, bytes), _eager_limit);
    return true;
  }
  // If it was stopped with few messages, it needs smaller ones.
  const bool stopped = needed < bytes;
  trial.pace =
      stopped ? pace_for(needed, _eager_limit)
              : pace_for(std::clamp(needed / bytes, 1.5, fastest_growth) * bytes, _eager_limit);
  return false;
}

} // namespace thalweg::probe
