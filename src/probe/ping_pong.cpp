#include "probe/ping_pong.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace thalweg::probe {
namespace {

constexpr double tolerance = 0.02;
/// The fraction of the shortest observed time that a rank sleeps before it polls for the answer:
/// ranks that share a core must not take it from each other, nor sleep past a quicker answer.
constexpr double asleep = 0.9;
constexpr Nanoseconds longest_pause = 2'000'000;
/// The most pings in flight between hosts that are far from each other.
constexpr std::size_t longest_train = 4;
constexpr Nanoseconds train_gap = 300'000;
constexpr Nanoseconds shortest_far_round_trip = 10'000'000;
constexpr Nanoseconds at_once = -1; // instead of a pause: the next ping follows in the train

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

/// Returns uneven fractions of a round trip, since pairs on the same core would otherwise stay in
/// step and always wait for each other: multiples of the golden ratio, modulo 1, from a start that
/// differs between ranks.
Nanoseconds pause_of(std::int64_t n, int rank, Nanoseconds round_trip) {
  constexpr double golden = 0.618033988749895;
  const double turns = golden * static_cast<double>(n) + 0.37 * rank;
  return static_cast<Nanoseconds>((turns - std::floor(turns)) *
                                  static_cast<double>(std::min(round_trip, longest_pause)));
}

/// Pings that are in flight together.
struct Train {
  std::array<Stamp, longest_train> questions{}, answers{};
  std::array<MPI_Request, longest_train> asked{}, answered{};
  std::array<Nanoseconds, longest_train> sent{}, sending{};
};

std::size_t train_length(Nanoseconds round_trip) {
  return round_trip > shortest_far_round_trip ? longest_train : 1;
}

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

/// The two ends of a pair may come at different times; one more exchange then tells the round trip,
/// to within a factor of two.
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
  const Buffers buffers(Train{});
  Train& train = *buffers;
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
  const Buffers stamps(std::array<Stamp, 2>{});
  auto& [question, answer] = *stamps;
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

/// Makes the library open the connections to all peers at once, which takes several round trips.
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

} // namespace thalweg::probe
