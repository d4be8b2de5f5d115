#include "probe/latency.hpp"

#include "probe/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thalweg::probe {
namespace {

constexpr std::int64_t warm_up = 2; // the first messages also open the connection
constexpr std::int64_t fewest = 6, most = 1000;
constexpr double tolerance = 0.02;
/// Of the shortest time seen, a rank sleeps so much before it watches for the answer: ranks that
/// share a core must not keep it from each other, nor may one sleep past a quicker answer.
constexpr double asleep = 0.9;
constexpr Nanoseconds longest_pause = 2'000'000;
/// Whatever delays a few messages alike should have passed by then.
const Time least_time{50e-3};

struct PingOrder {
  std::int64_t peer = 0, fewest = 0, most = 0;
  Nanoseconds least = 0, budget = 0;
  std::int64_t one_way = 0; // what must be tight: each direction, or the round trip
};

struct PingReply {
  Estimate forward, backward, round_trip;
  double library = 0;     // nanoseconds: sending and receiving
  Nanoseconds offset = 0; // of the peer's clock
};

/// The content of a message.
struct Stamp {
  Nanoseconds received = 0, sent = 0; // in a pong
  Nanoseconds pause = 0;              // in a ping: between its answer and the next ping
  std::int64_t more = 1;
};
static_assert(sizeof(Stamp) == ping_size);

struct Samples {
  LowQuantile forward, backward, round_trip, library;
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
  [[nodiscard]] bool tight(const PingOrder& order) const {
    const auto minimum = static_cast<std::size_t>(order.fewest);
    return order.one_way != 0
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

std::vector<Words> ping_pairs(const Coordinator& coordinator, const Round& pairs,
                              PingOrder ping_order) {
  std::vector<Assignment> assignments;
  for (auto [first, second] : pairs) {
    auto ping = begin(Order::ping), pong = begin(Order::pong);
    ping_order.peer = second;
    append(ping, ping_order);
    ping_order.peer = first;
    append(pong, ping_order);
    assignments.push_back({first, std::move(ping)});
    assignments.push_back({second, std::move(pong)});
  }
  return coordinator.run(assignments, ping_order.budget, "measuring latency");
}

} // namespace

Words ping(const Channel& channel, const Words& words) {
  std::size_t at = 1;
  const auto order = extract<PingOrder>(words, at);
  const auto peer = static_cast<int>(order.peer);
  const auto start = now(), deadline = start + order.budget;
  Samples samples;
  Stamp question, answer;
  for (std::int64_t n = -warm_up;; ++n) {
    const bool out_of_time = n >= order.fewest && now() > deadline;
    const bool known = now() > start + order.least && samples.tight(order);
    if (n >= order.most || out_of_time || known) question.more = 0;
    if (question.more == 0) break;
    sleep_until(now() + question.pause);
    question.pause = n > 0 ? pause_of(n, channel.rank(), samples.shortest) : 0;
    auto answered = channel.post_receive(&answer, ping_size, peer, Tag::pong);
    const auto sent = now();
    auto asked = channel.post_send(&question, ping_size, peer, Tag::ping);
    const auto sending = now() - sent;
    const auto receiving =
        channel.complete(answered, peer, n > 0 ? sent + sleep_of(samples.shortest) : 0);
    const auto received = now();
    channel.complete(asked, peer);
    if (n < 0) continue;
    samples.add(sent, answer, received);
    samples.library.add(sending + receiving);
  }
  auto last = channel.post_send(&question, ping_size, peer, Tag::ping);
  channel.complete(last, peer);
  Words reply;
  append(reply, PingReply{samples.forward.estimate(), samples.backward.estimate(),
                          samples.round_trip.estimate(), samples.library.estimate().value,
                          samples.offset});
  return reply;
}

Words pong(const Channel& channel, const Words& words) {
  std::size_t at = 1;
  const auto peer = static_cast<int>(extract<PingOrder>(words, at).peer);
  Stamp question, answer;
  Nanoseconds shortest = std::numeric_limits<Nanoseconds>::max();
  for (std::int64_t n = -warm_up;; ++n) {
    const auto next = answer.sent + question.pause;
    auto asked = channel.post_receive(&question, ping_size, peer, Tag::ping);
    channel.complete(asked, peer, n > -warm_up + 1 ? next + sleep_of(shortest) : 0);
    answer.received = now();
    if (question.more == 0) return {};
    if (n > -warm_up) shortest = std::min(shortest, answer.received - next);
    answer.sent = now();
    auto answered = channel.post_send(&answer, ping_size, peer, Tag::pong);
    channel.complete(answered, peer);
  }
}

Latencies measure_latency(Coordinator& coordinator, bool shared_clock, double share) {
  const auto all = rounds(coordinator.hosts());
  const auto hosts = static_cast<std::size_t>(coordinator.hosts());
  Latencies directed{Matrix<Estimate>(hosts), 0, shared_clock},
      halves{Matrix<Estimate>(hosts), 0, false};
  std::vector<double> library;
  std::vector<Nanoseconds> offsets(hosts);
  const auto least =
      std::min(coordinator.dilated(least_time),
               (coordinator.deadline(share) - now()) / static_cast<Nanoseconds>(2 * all.size()));
  for (std::size_t r = 0; r < all.size(); ++r) {
    const auto left = std::max<Nanoseconds>(coordinator.deadline(share) - now(), 0);
    const auto budget = left / static_cast<Nanoseconds>(all.size() - r);
    const auto replies =
        ping_pairs(coordinator, all[r], {0, fewest, most, least, budget, shared_clock ? 1 : 0});
    for (std::size_t p = 0; p < all[r].size(); ++p) {
      const auto [first, second] = all[r][p];
      std::size_t at = 0;
      const auto reply = extract<PingReply>(replies[2 * p], at);
      const Estimate half{reply.round_trip.value / 2, reply.round_trip.error};
      halves.one_way(first, second) = halves.one_way(second, first) = half;
      directed.one_way(first, second) = reply.forward;
      directed.one_way(second, first) = reply.backward;
      library.push_back(reply.library);
      directed.shared_clock &= reply.forward.value > 0 && reply.backward.value > 0;
      if (first == 0) offsets[static_cast<std::size_t>(second)] = reply.offset;
      if (second == 0) offsets[static_cast<std::size_t>(first)] = -reply.offset;
    }
    coordinator.report.progress("latency", r + 1, all.size());
  }
  directed.library = halves.library = median(library);
  if (directed.shared_clock) return directed;
  coordinator.offsets = offsets;
  return halves;
}

void align_clocks(Coordinator& coordinator) {
  for (HostId host = 1; host < coordinator.hosts(); ++host) {
    std::size_t at = 0;
    const auto replies = ping_pairs(coordinator, {{0, host}}, {0, fewest, fewest, 0, 0, 0});
    coordinator.offsets[static_cast<std::size_t>(host)] = extract<PingReply>(replies[0], at).offset;
  }
}

} // namespace thalweg::probe
