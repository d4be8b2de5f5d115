#include "probe/latency.hpp"

#include "probe/clock_offsets.hpp"
#include "probe/outline.hpp"
#include "probe/rounds.hpp"
#include "probe/sites.hpp"
#include "probe/unmet.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <bit>
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
const Time long_round_trip{2e-3};
/// The share by which pairs that are measured at once may take longer than alone.
constexpr double most_disturbance = 0.04;

/// Both ends of one pair's measurement.
struct PairReply {
  PingReply ping;
  LibraryTime pong;
};

/// Whether the journal of an interrupted probe may have the result of a job.
enum class Source { journal_or_live, live };

/// Goes through rounds of pairs, each rank proceeding from one of its pairs to the next by itself:
/// pairs stay disjoint, since a rank is in one at a time. @return by round, by pair
std::vector<std::vector<PairReply>> go_through(Coordinator& coordinator,
                                               std::span<const Round> rounds, Turn turn,
                                               Source source = Source::journal_or_live) {
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
  const auto replies = source == Source::live ? coordinator.run_live(job) : coordinator.run(job);
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
  Record(std::size_t hosts, bool shared_clock)
      : latencies{Matrix<Estimate>(hosts, {0, unknown}), Matrix<double>(hosts), shared_clock},
        _halves(hosts) {}
  void add(Pair pair, const PairReply& reply) {
    const auto [first, second] = pair;
    const auto& [ping, pong] = reply;
    latencies.one_way(first, second) = ping.forward;
    latencies.one_way(second, first) = ping.backward;
    latencies.library(first, second) = ping.library.send + pong.receive;
    latencies.library(second, first) = pong.send + ping.library.receive;
    latencies.shared_clock &= ping.forward.value > 0 && ping.backward.value > 0;
    _halves(first, second) = {ping.round_trip.value / 2, ping.round_trip.error};
    meetings.push_back({pair, ping.offset, static_cast<Nanoseconds>(ping.round_trip.value)});
  }
  /// Returns half of each round trip if the clock isn't shared.
  [[nodiscard]] Latencies result() const {
    if (latencies.shared_clock) return latencies;
    Latencies halves = latencies;
    const auto hosts = static_cast<HostId>(_halves.size());
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
  /// Returns half of each round trip, in both directions; zero: not measured.
  [[nodiscard]] Matrix<Time> half_trips() const {
    Matrix<Time> result(_halves.size());
    for (const auto& [pair, offset, round_trip] : meetings)
      result(pair.first, pair.second) = result(pair.second, pair.first) =
          Time(0.5e-9 * static_cast<double>(round_trip));
    return result;
  }

  Latencies latencies;
  std::vector<Meeting> meetings;

private:
  static constexpr double unknown = std::numeric_limits<double>::infinity();
  Matrix<Estimate> _halves;
};

/// Returns the offsets of all hosts' clocks, by what is known of them, and by turns of hosts whose
/// offset is known with others.
std::vector<Nanoseconds> offsets_of(Coordinator& coordinator, ClockOffsets offsets, Source source) {
  Turn turn;
  turn.fewest = fewest, turn.most = most; // Without a budget it ends after the fewest.
  for (Round round; !(round = next_to_align(offsets)).empty();) {
    const auto replies = go_through(coordinator, {&round, 1}, turn, source);
    for (std::size_t p = 0; p < round.size(); ++p)
      offsets[index(round[p].second)] = *offsets[index(round[p].first)] + replies[0][p].ping.offset;
  }
  std::vector<Nanoseconds> result;
  for (const auto& offset : offsets)
    result.push_back(*offset);
  return result;
}

/// Sets the coordinator's offsets. Those of a journal's results are as old as these: clocks are
/// compared once more before anything new is measured.
void align(Coordinator& coordinator, std::span<const Meeting> meetings) {
  const auto hosts = index(coordinator.hosts());
  coordinator.offsets =
      offsets_of(coordinator, clock_offsets(hosts, meetings), Source::journal_or_live);
  coordinator.before_live = [&coordinator, hosts] {
    coordinator.offsets = offsets_of(coordinator, clock_offsets(hosts, {}), Source::live);
  };
}

/// Measures rounds of pairs, as many pairs at once as is set.
class LatencyProbe {
public:
  LatencyProbe(Coordinator& coordinator, bool shared_clock, std::vector<Round> all, double share)
      : _coordinator(coordinator), _deadline(coordinator.deadline(share)),
        // The following phases take time, too.
        _rounds_end(_deadline - (_deadline - coordinator.clock()) / 10), _all(std::move(all)),
        _pairs(most_pairs()), _record(index(coordinator.hosts()), shared_clock) {
    // If time allows only some of them, they should not resemble each other.
    std::shuffle(_all.begin(), _all.end(), std::mt19937(seed)); // NOLINT(*-msc51-cpp): repeatable
    const std::size_t affordable =
        affordable_rounds(_all.size(), coordinator.undilated(static_cast<double>(left())));
    _is_cut = affordable < _all.size();
    _all.resize(affordable);
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
  void meet_sites();
  [[nodiscard]] double round_trip_alone(Pair pair);
  [[nodiscard]] double disturbance(std::span<const Round> rounds);
  [[nodiscard]] Latencies result();

  Coordinator& _coordinator;
  Nanoseconds _deadline, _rounds_end;
  std::vector<Round> _all;
  bool _is_cut = false; ///< whether time allows only some of all rounds
  std::size_t _pairs;   ///< at once
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
  if (_is_cut) meet_sites();
  return result();
}

/// Measures pairs of sites that haven't met in the rounds that time allowed, which may be parts of
/// one site. Goes on for a while even if time is over, since all that follows rests on the sites.
void LatencyProbe::meet_sites() {
  Turn turn = _turn;
  turn.least = turn.budget = 0;
  std::size_t beyond = 0; // rounds since time was over
  for (;;) {
    const auto latency = _record.half_trips();
    const auto sites = find_sites(latency);
    const Round round = unmet(latency, sites);
    const auto most_beyond = 2 * static_cast<std::size_t>(std::bit_width(sites.size()));
    if (round.empty() || (left() == 0 && ++beyond > most_beyond)) return;
    const auto replies = go_through(_coordinator, {&round, 1}, turn);
    for (std::size_t p = 0; p < round.size(); ++p)
      _record.add(round[p], replies[0][p]);
  }
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
  if (_coordinator.undilated(nearest) > long_round_trip) return 0;
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
  align(_coordinator, _record.meetings);
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

void align_clocks(Coordinator& coordinator) { align(coordinator, {}); }

} // namespace thalweg::probe
