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

constexpr std::int64_t fewest = 3, most_samples = 1000;
const Time longest_turn{0.2};
/// Pairs measured again, alone.
constexpr std::size_t most_repeated = 8;
constexpr unsigned seed = 1;
/// Pairs of a round by which it is found how many are measured at once.
constexpr std::size_t most_near = 5;
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

std::vector<double> round_trips(Coordinator& coordinator, const Round& round, Turn turn) {
  const auto replies = go_through(coordinator, {&round, 1}, turn);
  std::vector<double> result;
  for (const PairReply& reply : replies.front())
    result.push_back(reply.ping.round_trip.value);
  return result;
}

/// Returns by which share near pairs of a round take longer in it than alone: their median. Their
/// ranks' own work is the largest part of their time.
/// @param together the round trips of the round's pairs
double disturbance(Coordinator& coordinator, const Round& round, std::span<const double> together,
                   Turn turn) {
  std::vector<std::size_t> near; // The very nearest are those that were disturbed least.
  const double farthest = 2 * *std::ranges::min_element(together);
  for (std::size_t pair = 0; pair < round.size(); ++pair)
    if (together[pair] <= farthest) near.push_back(pair);
  const std::size_t count = std::min(near.size(), most_near);
  std::vector<double> shares;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t pair = near[i * near.size() / count];
    shares.push_back(together[pair] / round_trips(coordinator, {round[pair]}, turn)[0] - 1);
  }
  return median(shares);
}

/// Returns how many pairs of a round may be measured at once without disturbing each other, or as
/// few as time allows: ranks that share cores take them from each other.
std::size_t undisturbed_pairs(Coordinator& coordinator, std::span<const Round> all, Turn turn,
                              Nanoseconds deadline) {
  Round some = all.front();
  while (some.size() > 1) {
    const Nanoseconds began = coordinator.clock();
    const std::vector<double> together = round_trips(coordinator, some, turn);
    const Nanoseconds took = coordinator.clock() - began;
    const std::size_t half = (some.size() + 1) / 2;
    const auto parts = static_cast<Nanoseconds>(split(all, half).size());
    // Parts of rounds may take half as long as this one.
    if (began + took * parts / 2 > deadline) break;
    if (disturbance(coordinator, some, together, turn) <= most_disturbance) break;
    some.resize(half);
  }
  return some.size();
}

/// Measures a few pairs again, one at a time; returns the median difference from the rounds.
double repeat_alone(Coordinator& coordinator, std::span<const Round> rounds, Turn turn,
                    const Latencies& latencies, Nanoseconds deadline, std::size_t& count) {
  std::vector<double> differences;
  const auto repeated = std::min(most_repeated, rounds.size());
  for (std::size_t k = 0; k < repeated && coordinator.clock() < deadline; ++k) {
    const auto& round = rounds[k * rounds.size() / repeated];
    const Pair pair = round[k % round.size()];
    const Round alone{pair};
    const auto reply = go_through(coordinator, {&alone, 1}, turn)[0][0].ping;
    differences.push_back(
        std::abs(static_cast<double>(latencies.round_trip(pair.first, pair.second)) /
                     reply.round_trip.value -
                 1));
  }
  count = differences.size();
  return differences.empty() ? 0 : median(differences);
}

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

Turn usual_turn(bool shared_clock) {
  Turn turn;
  turn.fewest = fewest, turn.most = most_samples, turn.one_way = shared_clock ? 1 : 0;
  return turn;
}

/// The following phases take time, too.
Nanoseconds end_of_rounds(const Coordinator& coordinator, Nanoseconds deadline) {
  return deadline - (deadline - coordinator.clock()) / 10;
}

/// Returns as many of all rounds as time allows, in a random order: they should not resemble each
/// other.
std::vector<Round> affordable(const Coordinator& coordinator, std::vector<Round> all,
                              Nanoseconds deadline) {
  std::shuffle(all.begin(), all.end(), std::mt19937(seed)); // NOLINT(*-msc51-cpp): repeatable
  const Nanoseconds left = end_of_rounds(coordinator, deadline) - coordinator.clock();
  all.resize(affordable_rounds(all.size(), coordinator.undilated(static_cast<double>(left))));
  return all;
}

/// @param at_once rounds that ranks go through by themselves
Latencies measure_rounds(Coordinator& coordinator, bool shared_clock, std::span<const Round> all,
                         std::size_t at_once, double share) {
  const auto deadline = coordinator.deadline(share);
  const auto rounds_end = end_of_rounds(coordinator, deadline);
  const auto left = [&] { return std::max<Nanoseconds>(rounds_end - coordinator.clock(), 0); };
  Turn turn = usual_turn(shared_clock);
  turn.least =
      std::min(coordinator.dilated(least_turn), left() / static_cast<Nanoseconds>(2 * all.size()));
  Record record(coordinator, shared_clock);
  for (std::size_t r = 0; r < all.size();) {
    const auto some = all.subspan(r, std::min(at_once, all.size() - r));
    turn.budget = std::min(left() / static_cast<Nanoseconds>(all.size() - r),
                           coordinator.dilated(longest_turn));
    const auto replies = go_through(coordinator, some, turn);
    for (std::size_t i = 0; i < some.size(); ++i)
      for (std::size_t p = 0; p < some[i].size(); ++p)
        record.add(some[i][p], replies[i][p]);
    coordinator.report.progress("latency", r += some.size(), all.size());
  }
  auto result = record.result();
  result.disturbance = repeat_alone(coordinator, all, turn, result, deadline, result.repeated);
  if (result.shared_clock) return result;
  coordinator.offsets = record.offsets;
  align_clocks_of(coordinator, record.known);
  return result;
}

} // namespace

Latencies measure_latency(Coordinator& coordinator, bool shared_clock, double share) {
  const Nanoseconds deadline = coordinator.deadline(share);
  const auto all = affordable(coordinator, rounds(coordinator.hosts()), deadline);
  const std::size_t most = all.front().size();
  Turn turn = usual_turn(shared_clock);
  turn.least = turn.budget = coordinator.dilated(least_turn);
  const std::size_t pairs =
      undisturbed_pairs(coordinator, all, turn, end_of_rounds(coordinator, deadline));
  if (pairs == most) return measure_rounds(coordinator, shared_clock, all, rounds_at_once, share);
  coordinator.report.note("pairs measured at once: " + std::to_string(pairs) + " of " +
                          std::to_string(most) + ", since more disturb each other");
  // Ranks go through several rounds by themselves, so parts of one would run at the same time.
  return measure_rounds(coordinator, shared_clock, split(all, pairs), 1, share);
}

Latencies measure_latency(Coordinator& coordinator, bool shared_clock, std::vector<Round> all,
                          double share) {
  all = affordable(coordinator, std::move(all), coordinator.deadline(share));
  return measure_rounds(coordinator, shared_clock, all, rounds_at_once, share);
}

void align_clocks(Coordinator& coordinator) {
  align_clocks_of(coordinator, std::vector<bool>(coordinator.offsets.size(), false));
}

} // namespace thalweg::probe
