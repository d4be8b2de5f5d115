#include "probe/latency.hpp"

#include "probe/outline.hpp"
#include "probe/rounds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

namespace thalweg::probe {
namespace {

constexpr std::int64_t fewest = 3, most = 1000;
const Time longest_turn{0.2};
constexpr double tolerance = 0.02;
/// Of the shortest time seen, a rank sleeps so much before it watches for the answer: ranks that
/// share a core must not keep it from each other, nor may one sleep past a quicker answer.
constexpr double asleep = 0.9;
constexpr Nanoseconds longest_pause = 2'000'000;
/// Between hosts that are far from each other, pings follow each other before they are answered.
constexpr std::size_t longest_train = 4;
constexpr Nanoseconds train_gap = 300'000;
constexpr Nanoseconds far = 10'000'000;
constexpr Nanoseconds at_once = -1; // instead of a pause: the next ping follows in the train
/// Pairs measured again, alone.
constexpr std::size_t most_repeated = 8;
constexpr unsigned seed = 1;

/// One rank's turn with one peer.
struct Turn {
  std::int64_t peer = 0, pings = 0; // pings: 1 if it asks, 0 if it answers
  std::int64_t fewest = 0, most = 0;
  Nanoseconds least = 0, budget = 0;
  std::int64_t one_way = 0; // what must be tight: each direction, or the round trip
};

/// What the library takes, in nanoseconds. The two ends differ: one sends after a sleep, the other
/// right after it has received.
struct LibraryTime {
  double send = 0, receive = 0;
};

struct PingReply {
  Estimate forward, backward, round_trip;
  LibraryTime library;
  Nanoseconds offset = 0; // of the peer's clock
};

/// The content of a message.
struct Stamp {
  Nanoseconds received = 0, sent = 0; // in a pong; received 0: while the ponger slept
  Nanoseconds pause = 0;              // in a ping: between its answer and the next ping
  std::int64_t more = 1;
};
static_assert(sizeof(Stamp) == ping_size);

struct LibrarySamples {
  LowQuantile send, receive;
  [[nodiscard]] LibraryTime estimate() const {
    return {send.estimate().value, receive.estimate().value};
  }
};

struct Samples {
  LowQuantile forward, backward, round_trip;
  Nanoseconds shortest = std::numeric_limits<Nanoseconds>::max(), offset = 0;

  void add(Nanoseconds sent, const Stamp& peer, Nanoseconds received) {
    const auto there = peer.received - sent, back = received - peer.sent;
    forward.add(there);
    backward.add(back);
    round_trip.add(there + back);
    if (there + back >= shortest) return;
    shortest = there + back;
    offset = (there - back) / 2;
  }
  [[nodiscard]] bool tight(const Turn& turn) const {
    const auto minimum = static_cast<std::size_t>(turn.fewest);
    return turn.one_way != 0
               ? forward.tight(minimum, tolerance) && backward.tight(minimum, tolerance)
               : round_trip.tight(minimum, tolerance);
  }
};

Nanoseconds sleep_of(Nanoseconds shortest) {
  return static_cast<Nanoseconds>(asleep * static_cast<double>(shortest));
}

/// Uneven parts of a round trip, for pairs on the same core would else stay in step and always wait
/// for each other: multiples of the golden ratio, modulo 1, from a start that differs between
/// ranks.
Nanoseconds pause_of(std::int64_t n, int rank, Nanoseconds round_trip) {
  constexpr double golden = 0.618033988749895;
  const double turns = golden * static_cast<double>(n) + 0.37 * rank;
  return static_cast<Nanoseconds>((turns - std::floor(turns)) *
                                  static_cast<double>(std::min(round_trip, longest_pause)));
}

/// Pings that are under way together.
struct Train {
  std::array<Stamp, longest_train> questions{}, answers{};
  std::array<MPI_Request, longest_train> asked{}, answered{};
  std::array<Nanoseconds, longest_train> sent{}, sending{};
};

std::size_t train_length(Nanoseconds round_trip) { return round_trip > far ? longest_train : 1; }

void send_train(const Channel& channel, int peer, Train& train, std::size_t length,
                Nanoseconds pause) {
  for (std::size_t i = 0; i < length; ++i)
    train.answered[i] = channel.post_receive(&train.answers[i], ping_size, peer, Tag::pong);
  for (std::size_t i = 0; i < length; ++i) {
    if (i > 0) sleep_until(train.sent[i - 1] + train_gap);
    train.questions[i].pause = i + 1 < length ? at_once : pause;
    train.sent[i] = now();
    train.asked[i] = channel.post_send(&train.questions[i], ping_size, peer, Tag::ping);
    train.sending[i] = now() - train.sent[i];
  }
}

void say(const Channel& channel, int peer) {
  auto request = channel.post_send(nullptr, 0, peer, Tag::greeting);
  channel.await(request, peer);
}

void hear(const Channel& channel, int peer) {
  auto request = channel.post_receive(nullptr, 0, peer, Tag::greeting);
  channel.await(request, peer);
}

/// The two ends of a pair may come at different times; then one more exchange tells how long a
/// round trip takes, to within a factor of two.
Nanoseconds meet_as_pinger(const Channel& channel, int peer) {
  hear(channel, peer);
  const auto begin = now();
  say(channel, peer);
  hear(channel, peer);
  return now() - begin;
}

void meet_as_ponger(const Channel& channel, int peer) {
  say(channel, peer);
  hear(channel, peer);
  say(channel, peer);
}

PingReply ping(const Channel& channel, const Turn& turn) {
  const auto peer = static_cast<int>(turn.peer);
  Samples samples;
  LibrarySamples library;
  Train train;
  const auto round_trip = meet_as_pinger(channel, peer);
  const auto length = train_length(round_trip);
  const auto start = now();
  Nanoseconds pause = 0, sleep = round_trip / 4;
  for (std::int64_t n = 0; n < turn.most; ++n) {
    const auto count = static_cast<std::int64_t>(samples.forward.count());
    if (count >= turn.fewest && now() > start + turn.budget) break;
    if (count > 0 && now() > start + turn.least && samples.tight(turn)) break;
    sleep_until(now() + pause);
    if (count > 0) pause = pause_of(n, channel.rank(), samples.shortest);
    send_train(channel, peer, train, length, pause);
    bool overslept = false;
    for (std::size_t i = 0; i < length; ++i) {
      const auto look =
          channel.complete(train.answered[i], peer, i == 0 ? train.sent[0] + sleep : 0);
      const auto received = now();
      channel.complete(train.asked[i], peer);
      overslept |= i == 0 && sleep > 0 && look.first;
      if (overslept || train.answers[i].received == 0) continue;
      samples.add(train.sent[i], train.answers[i], received);
      library.send.add(train.sending[i]);
      library.receive.add(look.took);
    }
    sleep = overslept || samples.forward.count() == 0 ? sleep / 2 : sleep_of(samples.shortest);
  }
  train.questions[0].more = 0;
  auto last = channel.post_send(&train.questions[0], ping_size, peer, Tag::ping);
  channel.complete(last, peer);
  return {samples.forward.estimate(), samples.backward.estimate(), samples.round_trip.estimate(),
          library.estimate(), samples.offset};
}

LibraryTime pong(const Channel& channel, int peer) {
  LibrarySamples library;
  Stamp question, answer;
  Nanoseconds sleep = 0, shortest = std::numeric_limits<Nanoseconds>::max();
  meet_as_ponger(channel, peer);
  for (std::int64_t n = 0;; ++n) {
    const auto next = answer.sent + question.pause;
    const bool follows = question.pause == at_once || n == 0;
    auto asked = channel.post_receive(&question, ping_size, peer, Tag::ping);
    const auto look = channel.complete(asked, peer, follows ? 0 : next + sleep);
    const auto received = now();
    if (question.more == 0) return library.estimate();
    const bool overslept = !follows && sleep > 0 && look.first;
    answer.received = overslept ? 0 : received;
    if (!follows) {
      shortest = std::min(shortest, received - next);
      sleep = overslept ? sleep / 2 : sleep_of(shortest);
    }
    answer.sent = now();
    auto answered = channel.post_send(&answer, ping_size, peer, Tag::pong);
    const auto sending = now() - answer.sent;
    channel.complete(answered, peer);
    library.send.add(sending);
    library.receive.add(look.took);
  }
}

/// Has the library open the connections to all peers at once: that takes several round trips.
void greet(const Channel& channel, const Words& order) {
  std::vector<int> peers;
  for (std::size_t at = 1; at < order.size();)
    peers.push_back(static_cast<int>(extract<Turn>(order, at).peer));
  std::vector<MPI_Request> requests;
  for (int peer : peers) {
    requests.push_back(channel.post_receive(nullptr, 0, peer, Tag::greeting));
    requests.push_back(channel.post_send(nullptr, 0, peer, Tag::greeting));
  }
  for (std::size_t i = 0; i < requests.size(); ++i)
    channel.await(requests[i], peers[i / 2]);
}

/// Both ends of one pair's measurement.
struct PairReply {
  PingReply ping;
  LibraryTime pong;
};

/// Goes through rounds of pairs, each rank from one of its pairs to the next on its own: pairs stay
/// disjoint, since a rank is in one at a time. @return by round, by pair
std::vector<std::vector<PairReply>> go_through(Coordinator& coordinator,
                                               std::span<const Round> rounds, Turn turn) {
  Job job{{}, turn.budget * static_cast<Nanoseconds>(rounds.size()), "measuring latency", {}};
  for (int rank = 0; rank < coordinator.hosts(); ++rank)
    job.assignments.push_back({rank, begin(Order::latency)});
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

/// Records what pairs said.
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
  /// Without a shared clock: half of each round trip.
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
  std::vector<bool> known; // whether the offset is
  Latencies latencies;

private:
  void set_offset(HostId host, Nanoseconds offset) {
    offsets[static_cast<std::size_t>(host)] = offset;
    known[static_cast<std::size_t>(host)] = true;
  }
  static constexpr double unknown = std::numeric_limits<double>::infinity();
  Matrix<Estimate> _halves;
};

/// A few pairs again, one at a time: the median of how much they differ from what the rounds said.
double repeat_alone(Coordinator& coordinator, std::span<const Round> rounds, Turn turn,
                    const Latencies& latencies, Nanoseconds deadline, std::size_t& count) {
  std::vector<double> differences;
  const auto repeated = std::min(most_repeated, rounds.size());
  for (std::size_t k = 0; k < repeated && now() < deadline; ++k) {
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

} // namespace

Words take_turns(const Channel& channel, const Words& order) {
  greet(channel, order);
  Words reply;
  for (std::size_t at = 1; at < order.size();) {
    const auto turn = extract<Turn>(order, at);
    if (turn.pings != 0)
      append(reply, ping(channel, turn));
    else
      append(reply, pong(channel, static_cast<int>(turn.peer)));
  }
  return reply;
}

Latencies measure_latency(Coordinator& coordinator, bool shared_clock, double share) {
  auto all = rounds(coordinator.hosts());
  // Should time allow only some of them, they ought not to be like each other.
  std::shuffle(all.begin(), all.end(), std::mt19937(seed)); // NOLINT(*-msc51-cpp): repeatable
  const auto deadline = coordinator.deadline(share);
  const auto left = [&] { return std::max<Nanoseconds>(deadline - now(), 0); };
  all.resize(affordable_rounds(all.size(), coordinator.undilated(static_cast<double>(left()))));
  Turn turn;
  turn.fewest = fewest, turn.most = most, turn.one_way = shared_clock ? 1 : 0;
  turn.least =
      std::min(coordinator.dilated(least_turn), left() / static_cast<Nanoseconds>(2 * all.size()));
  Record record(coordinator, shared_clock);
  for (std::size_t r = 0; r < all.size();) {
    const auto some = std::span(all).subspan(r, std::min(rounds_at_once, all.size() - r));
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

void align_clocks(Coordinator& coordinator) {
  align_clocks_of(coordinator, std::vector<bool>(coordinator.offsets.size(), false));
}

} // namespace thalweg::probe
