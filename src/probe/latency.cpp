#include "probe/latency.hpp"

#include "probe/outline.hpp"
#include "probe/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace thalweg::probe {
namespace {

constexpr std::int64_t fewest = 3, most = 1000;
const Time longest_turn{0.2};
/// Pairs measured again, alone.
constexpr std::size_t most_repeated = 8;
constexpr unsigned seed = 1;
/// Pairs that are measured alone to find how many are measured at once.
constexpr std::size_t most_tried = 5;
/// Round trips of which a core's work is no part to speak of.
const Time far{2e-3};
/// The share by which pairs that are measured at once may take longer than alone.
constexpr double most_disturbance = 0.04;

/// Both ends of one pair's measurement.
struct PairReply {
  PingReply ping;
  LibraryTime pong;
};

/// Goes through rounds of pairs, each rank proceeding from one of its pairs to the next by itself:
/// pairs stay disjoint, since a rank is in one at a time. @return by round, by pair
std::vector<std::vector<PairReply>> go_through(Coordinator& coordinator,
                                               std::span<const Round> rounds, Turn turn) {
  Job job{{}, turn.budget * static_cast<Nanoseconds>(rounds.size()), "measuring latency", {}};
  for (int rank = 0; rank < coordinator.hosts(); ++rank)
    job.assignments.push_back({rank, begin(Command::latency)});
  const auto add = [&](HostId rank, HostId peer, bool pings) {
    turn.peer = peer, turn.pings = pings ? 1 : 0;
    append(job.assignments[static_cast<std::size_t>(rank)].order, turn);
  };
  for (const auto& round : rounds)
    for (auto [first, second] : round) {
      add(first, second, true), add(second, first, false);
      job.key.insert(job.key.end(), {first, second});
    }
  const auto replies = coordinator.run(job);
  std::vector<std::size_t> at(replies.size());
  std::vector<std::vector<PairReply>> result;
  for (const auto& round : rounds) {
    auto& pairs = result.emplace_back();
    for (auto [first, second] : round) {
      const auto a = static_cast<std::size_t>(first), b = static_cast<std::size_t>(second);
      const auto pinged = extract<PingReply>(replies[a], at[a]);
      pairs.push_back({pinged, extract<LibraryTime>(replies[b], at[b])});
    }
  }
  return result;
}

/// Records what pairs reported.
class Record {
public:
  Record(const Coordinator& coordinator, bool shared_clock)
      : offsets(static_cast<std::size_t>(coordinator.hosts())),
        known(offsets.size(), false), latencies{Matrix<Estimate>(offsets.size(), {0, unknown}),
                                                Matrix<double>(offsets.size()), shared_clock},
        _halves(offsets.size()) {
    known[0] = true;
  }
  void add(Pair pair, const PairReply& reply) {
    const auto [first, second] = pair;
    const auto& [ping, pong] = reply;
    latencies.one_way(first, second) = ping.forward;
    latencies.one_way(second, first) = ping.backward;
    latencies.library(first, second) = ping.library.send + pong.receive;
    latencies.library(second, first) = pong.send + ping.library.receive;
    latencies.shared_clock &= ping.forward.value > 0 && ping.backward.value > 0;
    _halves(first, second) = {ping.round_trip.value / 2, ping.round_trip.error};
    if (first == 0) set_offset(second, ping.offset);
    if (second == 0) set_offset(first, -ping.offset);
  }
  /// Returns half of each round trip if the clock isn't shared.
  [[nodiscard]] Latencies result() const {
    if (latencies.shared_clock) return latencies;
    Latencies halves = latencies;
    const auto hosts = static_cast<HostId>(offsets.size());
    for (HostId a = 0; a < hosts; ++a)
      for (HostId b = 0; b < hosts; ++b) {
        if (_halves(a, b).value == 0) continue;
        halves.one_way(a, b) = halves.one_way(b, a) = _halves(a, b);
        const double library = (latencies.library(a, b) + latencies.library(b, a)) / 2;
        halves.library(a, b) = halves.library(b, a) = library;
      }
    return halves;
  }

  [[nodiscard]] double round_trip(Pair pair) const {
    return 2 * _halves(pair.first, pair.second).value;
  }

  std::vector<Nanoseconds> offsets;
  std::vector<bool> known; // whether the offset is known
  Latencies latencies;

private:
  void set_offset(HostId host, Nanoseconds offset) {
    offsets[static_cast<std::size_t>(host)] = offset;
    known[static_cast<std::size_t>(host)] = true;
  }
  static constexpr double unknown = std::numeric_limits<double>::infinity();
  Matrix<Estimate> _halves;
};

void align_clocks_of(Coordinator& coordinator, const std::vector<bool>& known) {
  for (HostId host = 1; host < coordinator.hosts(); ++host) {
    if (known[static_cast<std::size_t>(host)]) continue;
    const Round alone{{0, host}};
    Turn turn;
    turn.fewest = turn.most = fewest;
    coordinator.offsets[static_cast<std::size_t>(host)] =
        go_through(coordinator, {&alone, 1}, turn)[0][0].ping.offset;
  }
}

/// Measures rounds of pairs, as many pairs at once as is set.
class LatencyProbe {
public:
  LatencyProbe(Coordinator& coordinator, bool shared_clock, std::vector<Round> all, double share)
      : _coordinator(coordinator), _deadline(coordinator.deadline(share)),
        // The following phases take time, too.
        _rounds_end(_deadline - (_deadline - coordinator.clock()) / 10), _all(std::move(all)),
        _pairs(most_pairs()), _record(coordinator, shared_clock) {
    // If time allows only some of them, they should not resemble each other.
    std::shuffle(_all.begin(), _all.end(), std::mt19937(seed)); // NOLINT(*-msc51-cpp): repeatable
    _all.resize(affordable_rounds(_all.size(), coordinator.undilated(static_cast<double>(left()))));
    _turn.fewest = fewest, _turn.most = most, _turn.one_way = shared_clock ? 1 : 0;
  }

  Latencies measure() {
    measure(0, _all.size());
    return result();
  }
  /// Measures as many pairs at once as don't disturb each other, or as few as time allows: ranks
  /// that share cores take them from each other.
  Latencies measure_undisturbed();

private:
  [[nodiscard]] Nanoseconds left() const {
    return std::max<Nanoseconds>(_rounds_end - _coordinator.clock(), 0);
  }
  [[nodiscard]] std::size_t most_pairs() const {
    return std::ranges::max(_all, {}, &Round::size).size();
  }
  void measure(std::size_t first, std::size_t last);
  [[nodiscard]] double round_trip_alone(Pair pair);
  [[nodiscard]] double disturbance(std::span<const Round> rounds);
  [[nodiscard]] Latencies result();

  Coordinator& _coordinator;
  Nanoseconds _deadline, _rounds_end;
  std::vector<Round> _all;
  std::size_t _pairs; ///< at once
  Turn _turn;
  Record _record;
};

/// Measures the rounds from one on to before another.
void LatencyProbe::measure(std::size_t first, std::size_t last) {
  if (first == last) return;
  const auto rounds = std::span(_all).subspan(first, last - first);
  const auto parts = split(rounds, _pairs);
  const std::size_t open = parts.size() * (_all.size() - first) / rounds.size();
  // Ranks go through several rounds by themselves: parts of one would run at the same time.
  const std::size_t at_once = parts.size() == rounds.size() ? rounds_at_once : 1;
  _turn.least =
      std::min(_coordinator.dilated(least_turn), left() / static_cast<Nanoseconds>(2 * open));
  for (std::size_t r = 0; r < parts.size();) {
    const auto some = std::span(parts).subspan(r, std::min(at_once, parts.size() - r));
    _turn.budget =
        std::min(left() / static_cast<Nanoseconds>(open - r), _coordinator.dilated(longest_turn));
    const auto replies = go_through(_coordinator, some, _turn);
    for (std::size_t i = 0; i < some.size(); ++i)
      for (std::size_t p = 0; p < some[i].size(); ++p)
        _record.add(some[i][p], replies[i][p]);
    r += some.size();
    _coordinator.report.progress("latency", first + rounds.size() * r / parts.size(), _all.size());
  }
}

Latencies LatencyProbe::measure_undisturbed() {
  const std::size_t first = std::min(rounds_at_once, _all.size());
  const auto rounds = std::span(_all).first(first);
  for (;;) {
    const Nanoseconds began = _coordinator.clock();
    measure(0, first);
    const Nanoseconds took = _coordinator.clock() - began;
    const std::size_t half = (_pairs + 1) / 2;
    // With half as many pairs at once there are twice as many turns, which may be half as long.
    const Nanoseconds needed = took * static_cast<Nanoseconds>(_all.size() / first);
    if (_pairs == 1 || needed > left() || disturbance(rounds) <= most_disturbance) break;
    _pairs = half;
  }
  if (_pairs < most_pairs())
    _coordinator.report.note("pairs measured at once: " + std::to_string(_pairs) + " of " +
                             std::to_string(most_pairs()) + ", since more disturb each other");
  measure(first, _all.size());
  return result();
}

double LatencyProbe::round_trip_alone(Pair pair) {
  const Round alone{pair};
  return go_through(_coordinator, {&alone, 1}, _turn)[0][0].ping.round_trip.value;
}

/// Returns by which share near pairs of rounds took longer than alone: their median. Their ranks'
/// own work is the largest part of their time.
double LatencyProbe::disturbance(std::span<const Round> rounds) {
  const auto trip = [&](Pair pair) { return _record.round_trip(pair); };
  std::vector<Pair> near; // The very nearest are those that were disturbed least.
  for (const Round& round : rounds)
    near.insert(near.end(), round.begin(), round.end());
  const double nearest = trip(std::ranges::min(near, {}, trip));
  if (_coordinator.undilated(nearest) > far) return 0;
  std::erase_if(near, [&](Pair pair) { return trip(pair) > 2 * nearest; });
  const std::size_t count = std::min(near.size(), most_tried);
  std::vector<double> shares;
  for (std::size_t i = 0; i < count; ++i) {
    const Pair pair = near[i * near.size() / count];
    shares.push_back(trip(pair) / round_trip_alone(pair) - 1);
  }
  return median(shares);
}

/// Measures a few pairs again, one at a time.
Latencies LatencyProbe::result() {
  Latencies result = _record.result();
  std::vector<double> differences;
  const auto repeated = std::min(most_repeated, _all.size());
  for (std::size_t k = 0; k < repeated && _coordinator.clock() < _deadline; ++k) {
    const auto& round = _all[k * _all.size() / repeated];
    const Pair pair = round[k % round.size()];
    const auto trip = static_cast<double>(result.round_trip(pair.first, pair.second));
    differences.push_back(std::abs(trip / round_trip_alone(pair) - 1));
  }
  result.repeated = differences.size();
  result.disturbance = differences.empty() ? 0 : median(differences);
  if (result.shared_clock) return result;
  _coordinator.offsets = _record.offsets;
  align_clocks_of(_coordinator, _record.known);
  return result;
}

} // namespace

Latencies measure_latency(Coordinator& coordinator, bool shared_clock, double share) {
  return LatencyProbe(coordinator, shared_clock, rounds(coordinator.hosts()), share)
      .measure_undisturbed();
}

Latencies measure_latency(Coordinator& coordinator, bool shared_clock, std::vector<Round> all,
                          double share) {
  return LatencyProbe(coordinator, shared_clock, std::move(all), share).measure();
}

void align_clocks(Coordinator& coordinator) {
  align_clocks_of(coordinator, std::vector<bool>(coordinator.offsets.size(), false));
}

} // namespace thalweg::probe
