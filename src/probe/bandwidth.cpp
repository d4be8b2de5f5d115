#include "probe/bandwidth.hpp"

#include "probe/transfer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace thalweg::probe {
namespace {

constexpr Size smallest = 10'000, largest = 60'000;
constexpr double fewest_bytes =
    192e3; // of which a frame, the grain in which bytes arrive, is a few percent
constexpr double most_bytes = 32e6;
constexpr double tolerance = 0.1;
constexpr int most_bursts = 6;
const Time shortest_stream{5e-3};
constexpr double start_up = 3;      // round trips of slow start that don't count
constexpr double round_trips = 1.5; // what the steady part must outlast
constexpr double fastest_growth = 8;

/// A flow being measured.
struct Trial {
  Arrow flow;
  Pace pace;
  int bursts = 0;
};

double bytes_of(Pace pace) { return static_cast<double>(pace.count * pace.size); }

class Trials {
public:
  Trials(Coordinator& coordinator, const Latencies& latencies, const Sites& sites, Size eager_limit)
      : _coordinator(coordinator), _latencies(latencies), _eager_limit(eager_limit), _queue(sites),
        _site(static_cast<std::size_t>(coordinator.hosts())),
        _result{Matrix<Rate>(_site.size()),
                Matrix<float>(_site.size(), std::numeric_limits<float>::infinity())} {
    for (std::size_t s = 0; s < sites.size(); ++s)
      for (HostId host : sites[s])
        _site[static_cast<std::size_t>(host)] = s;
  }

  /// Starts what can be started, and runs one burst of every flow; false when nothing is left.
  bool step() {
    for (auto flow : _queue.start())
      _running.push_back({flow, first_pace(flow)});
    if (_running.empty()) return false;
    std::vector<Burst> bursts;
    for (const auto& trial : _running)
      bursts.push_back({trial.flow.from, trial.flow.to, trial.pace.count, trial.pace.size});
    const auto flows = transfer_all(_coordinator, bursts, 0, "measuring bandwidth");
    std::vector<Trial> unfinished;
    for (std::size_t i = 0; i < flows.size(); ++i)
      if (!settle(_running[i], flows[i])) unfinished.push_back(_running[i]);
    _running = std::move(unfinished);
    return true;
  }
  [[nodiscard]] std::size_t left() const { return _queue.waiting() + _running.size(); }
  [[nodiscard]] Bandwidths& result() { return _result; }

private:
  Pace& first_pace(Arrow flow) {
    const std::pair lane(_site[static_cast<std::size_t>(flow.from)],
                         _site[static_cast<std::size_t>(flow.to)]);
    return _first_pace.try_emplace(lane, pace_for(fewest_bytes, _eager_limit)).first->second;
  }

  /// Records what a burst says; true if it is good enough, else the next one will be longer.
  bool settle(Trial& trial, const Flow& flow) {
    const auto [from, to] = trial.flow;
    const auto round_trip = _latencies.round_trip(from, to);
    const auto skip = slow_start(round_trip), wanted = long_enough(_coordinator, round_trip);
    const auto [rate, drift, length] = steady_rate(flow.arrivals, flow.message, skip);
    _result.rate(from, to) = Rate(rate.value);
    _result.error(from, to) = static_cast<float>(rate.error);
    const bool enough = length >= wanted || bytes_of(trial.pace) >= most_bytes;
    const double needed = 1.2e-9 * static_cast<double>(skip + wanted) * rate.value;
    if ((enough && drift <= tolerance) || ++trial.bursts == most_bursts) {
      // What sufficed for this flow is a good start for others between the same sites.
      first_pace(trial.flow) = pace_for(std::min(needed, bytes_of(trial.pace)), _eager_limit);
      _queue.finish(trial.flow);
      return true;
    }
    const double growth = needed / bytes_of(trial.pace);
    trial.pace =
        pace_for(std::clamp(growth, 1.5, fastest_growth) * bytes_of(trial.pace), _eager_limit);
    return false;
  }

  Coordinator& _coordinator;
  const Latencies& _latencies;
  Size _eager_limit;
  FlowQueue _queue;
  std::vector<std::size_t> _site;
  std::map<std::pair<std::size_t, std::size_t>, Pace> _first_pace;
  std::vector<Trial> _running;
  Bandwidths _result;
};

} // namespace

Pace pace_for(double bytes, Size eager_limit) {
  const double total = std::clamp(bytes, fewest_bytes, most_bytes);
  const Size size =
      std::min(std::clamp(static_cast<Size>(total / 16), smallest, largest), eager_limit);
  return {static_cast<std::int64_t>(std::ceil(total / static_cast<double>(size))), size};
}

Nanoseconds slow_start(Nanoseconds round_trip) {
  return static_cast<Nanoseconds>(start_up * static_cast<double>(round_trip));
}

Nanoseconds long_enough(const Coordinator& coordinator, Nanoseconds round_trip) {
  return std::max(coordinator.dilated(shortest_stream),
                  static_cast<Nanoseconds>(round_trips * static_cast<double>(round_trip)));
}

Bandwidths measure_bandwidth(Coordinator& coordinator, const Latencies& latencies,
                             const Sites& sites, Size eager_limit, double share) {
  Trials trials(coordinator, latencies, sites, eager_limit);
  const auto total = trials.left();
  const auto deadline = coordinator.deadline(share);
  // At least once, since what isn't measured is inferred from what is.
  while (trials.step()) {
    coordinator.report.progress("bandwidth", total - trials.left(), total);
    if (now() >= deadline) break;
  }
  auto& result = trials.result();
  if (trials.left() > 0)
    coordinator.report.note("the time budget allowed to measure the bandwidth of " +
                            std::to_string(total - trials.left()) + " of " + std::to_string(total) +
                            " directed pairs; the others are inferred");
  infer(result.rate, sites);
  return result;
}

} // namespace thalweg::probe
