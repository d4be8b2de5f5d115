#include "probe/costs.hpp"

#include "probe/eager_search.hpp"
#include "probe/latency.hpp"
#include "probe/transfer.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <bit>

namespace thalweg::probe {
namespace {

constexpr Size large_message = 32'000;
/// What less costs more than a ping can't be told from chance.
constexpr Size least_large = 16 * ping_size;
constexpr std::int64_t usual_repetitions = 15, fewest_repetitions = 5;
/// Latencies beyond which fewer repetitions are made: each takes several round trips.
constexpr Nanoseconds long_latency = 5'000'000;
/// Most libraries send it eagerly.
constexpr Size small_message = 1024;

struct CostOrder {
  std::int64_t peer = 0, first = 0, repetitions = 0;
  Size size = 0;
  Nanoseconds pause = 0; // surely longer than a message takes
};

struct CostReply {
  double send = 0, receive = 0; // nanoseconds, medians
};

/// How long messages to the peer take besides their latency, roughly.
struct Speed {
  double rate = 0;            ///< bytes/s of a short stream on a cold connection
  double fastest = 0;         ///< of a part of it: what the path carries
  Nanoseconds slow_start = 0; ///< the most that a cold connection costs

  [[nodiscard]] Nanoseconds on_wire(double size) const {
    return static_cast<Nanoseconds>(
        std::min(size / rate * 1e9, size / fastest * 1e9 + static_cast<double>(slow_start)));
  }
};

struct EagerOrder {
  std::int64_t peer = 0, first = 0;
  Nanoseconds latency = 0;
  Speed speed;
};

struct EchoOrder {
  std::int64_t peer = 0, first = 0, repetitions = 0;
  Size size = 0;
};

/// An attempt at one size; zero: no more attempts.
struct Attempt {
  Size size = 0;
  Nanoseconds pause = 0;
};

void pause(Nanoseconds time) { sleep_until(now() + time); }

double time_send(const Channel& channel, const std::vector<std::byte>& data, int peer) {
  const auto start = now();
  auto request = channel.post_send(data.data(), static_cast<Size>(data.size()), peer, Tag::cost);
  channel.complete(request, peer);
  return static_cast<double>(now() - start);
}

double time_receive(const Channel& channel, std::vector<std::byte>& data, int peer) {
  const auto start = now();
  auto request = channel.post_receive(data.data(), static_cast<Size>(data.size()), peer, Tag::cost);
  channel.complete(request, peer);
  return static_cast<double>(now() - start);
}

/// Sends `size` bytes to a peer that sleeps; returns whether the send ends before the peer wakes.
bool is_eager(const Channel& channel, int peer, Size size, const EagerOrder& order) {
  const std::vector<std::byte> data(static_cast<std::size_t>(size));
  const auto on_wire = order.speed.on_wire(static_cast<double>(size));
  const Attempt attempt{size, 2 * (2 * order.latency + on_wire) + 2'000'000};
  Words words;
  append(words, attempt);
  channel.send(peer, Tag::eager, words);
  (void)channel.receive(peer, Tag::eager, now() + 2 * channel.patience()); // then it sleeps
  auto request = channel.post_send(data.data(), size, peer, Tag::cost);
  const auto deadline = now() + attempt.pause;
  channel.complete(request, peer);
  return now() <= deadline;
}

/// The peer's side of is_eager(), until no more attempts come.
void sleep_through(const Channel& channel, int peer, Nanoseconds latency) {
  for (;;) {
    std::size_t at = 0;
    const auto words = channel.receive(peer, Tag::eager, now() + 2 * channel.patience());
    const auto attempt = extract<Attempt>(words, at);
    if (attempt.size == 0) return;
    channel.send(peer, Tag::eager, {});
    pause(attempt.pause + 2 * latency + 5'000'000); // even if the sender notices late
    std::vector<std::byte> data(static_cast<std::size_t>(attempt.size));
    auto request = channel.post_receive(data.data(), attempt.size, peer, Tag::cost);
    channel.complete(request, peer);
  }
}

/// Returns the seconds per byte of summing floats.
double time_combining() {
  constexpr int count = 1 << 16;
  const std::vector<float> from(count, 1.0F);
  std::vector<float> to(count, 0.0F);
  std::vector<double> times;
  for (int k = 0; k < usual_repetitions; ++k) {
    const auto start = now();
    MPI_Reduce_local(from.data(), to.data(), count, MPI_FLOAT, MPI_SUM);
    times.push_back(static_cast<double>(now() - start));
  }
  return median(times) * 1e-9 / (count * sizeof(float));
}

/// Gives rank 0 and the peer an order each.
std::vector<Words> run_both(Coordinator& coordinator, Command command, HostId peer,
                            const auto& first, const auto& second, Nanoseconds expected,
                            Words key) {
  Job job{{{0, begin(command)}, {peer, begin(command)}},
          expected,
          "measuring the cost of messages",
          std::move(key)};
  append(job.assignments[0].order, first);
  append(job.assignments[1].order, second);
  return coordinator.run(job);
}

/// Rank 0's partner in what follows.
struct Partner {
  HostId peer = 0;
  Nanoseconds latency = 0;
  Speed speed{};
  [[nodiscard]] std::int64_t repetitions() const {
    return latency > long_latency ? fewest_repetitions : usual_repetitions;
  }
};

CostReply costs_at(Coordinator& coordinator, const Partner& partner, Size size, Nanoseconds pause) {
  const auto [peer, times] = std::pair(partner.peer, partner.repetitions());
  const auto replies =
      run_both(coordinator, Command::cost, peer, CostOrder{peer, 1, times, size, pause},
               CostOrder{0, 0, times, size, pause}, 4 * times * pause,
               {static_cast<std::int64_t>(Command::cost), peer, size});
  std::size_t at = 0, also_at = 0;
  const auto a = extract<CostReply>(replies[0], at), b = extract<CostReply>(replies[1], also_at);
  return {(a.send + b.send) / 2, (a.receive + b.receive) / 2};
}

Size eager_limit(Coordinator& coordinator, const Partner& partner) {
  const auto& [peer, latency, speed] = partner;
  const auto expected = 40 * speed.on_wire(largest_limit) + 100 * latency;
  const auto replies =
      run_both(coordinator, Command::eager, peer, EagerOrder{peer, 1, latency, speed},
               EagerOrder{0, 0, latency, speed}, expected,
               {static_cast<std::int64_t>(Command::eager), peer});
  return replies[0].front();
}

/// Returns the nanoseconds until a message of this size has been answered.
double echo_time(Coordinator& coordinator, const Partner& partner, Size size) {
  const auto [peer, times] = std::pair(partner.peer, partner.repetitions());
  const auto replies =
      run_both(coordinator, Command::echo, peer, EchoOrder{peer, 1, times, size},
               EchoOrder{0, 0, times, size},
               times * (2 * partner.speed.on_wire(static_cast<double>(size)) + 4 * partner.latency),
               {static_cast<std::int64_t>(Command::echo), peer, size});
  return std::bit_cast<double>(replies[0].front());
}

/// Returns the additional time of a message just above the eager limit over one just below, minus a
/// round trip.
double handshake(Coordinator& coordinator, const Partner& partner, Size limit) {
  const Size above = above_limit(limit);
  const double bytes = static_cast<double>(above - limit) / partner.speed.rate * 1e9;
  const double more =
      echo_time(coordinator, partner, above) - echo_time(coordinator, partner, limit);
  return std::max(more - bytes - 2 * static_cast<double>(partner.latency), 0.0);
}

/// Returns how fast surely eager messages go, which tells how long to wait for larger ones.
Speed rough_speed(Coordinator& coordinator, HostId peer, Nanoseconds latency) {
  constexpr std::size_t part = 16;       // messages
  constexpr Nanoseconds slow_start = 10; // latencies: ten segments grow to 256 KB in five doublings
  const Burst burst{0, peer, 64, small_message, 0};
  LiveProber prober(coordinator);
  const auto arrivals = prober.transfer({&burst, 1}, "measuring the cost of messages")[0].arrivals;
  const double rate = steady_rate(arrivals, burst.size, 0).rate.value;
  double fastest = rate;
  for (std::size_t i = 0; i + part < arrivals.size(); ++i) {
    const auto took = std::max<Nanoseconds>(arrivals[i + part] - arrivals[i], 1);
    fastest =
        std::max(fastest, 1e9 * part * static_cast<double>(burst.size) / static_cast<double>(took));
  }
  return {rate, fastest, slow_start * latency};
}

} // namespace

Words time_messages(const Channel& channel, const Words& words) {
  std::size_t at = 1;
  const auto order = extract<CostOrder>(words, at);
  const auto peer = static_cast<int>(order.peer);
  std::vector<std::byte> data(static_cast<std::size_t>(order.size));
  std::vector<double> sends, receives;
  // The two ends take turns, each message arriving in the middle of the other end's pause.
  if (order.first == 0) pause(order.pause);
  for (std::int64_t k = 0; k < order.repetitions; ++k) {
    if (order.first == 0 || k > 0) receives.push_back(time_receive(channel, data, peer));
    sends.push_back(time_send(channel, data, peer));
    pause(2 * order.pause);
  }
  if (order.first != 0) receives.push_back(time_receive(channel, data, peer));
  Words reply;
  append(reply, CostReply{median(sends), median(receives)});
  return reply;
}

Words echo(const Channel& channel, const Words& words) {
  std::size_t at = 1;
  const auto order = extract<EchoOrder>(words, at);
  const auto peer = static_cast<int>(order.peer);
  std::vector<std::byte> data(static_cast<std::size_t>(order.size));
  std::vector<double> times;
  for (std::int64_t k = 0; k < order.repetitions; ++k) {
    const auto start = now();
    const bool asks = order.first != 0;
    auto there = asks ? channel.post_send(data.data(), order.size, peer, Tag::cost)
                      : channel.post_receive(data.data(), order.size, peer, Tag::cost);
    if (!asks) channel.complete(there, peer);
    auto back = asks ? channel.post_receive(nullptr, 0, peer, Tag::cost)
                     : channel.post_send(nullptr, 0, peer, Tag::cost);
    channel.complete(back, peer);
    if (asks) channel.complete(there, peer);
    times.push_back(static_cast<double>(now() - start));
  }
  return {std::bit_cast<std::int64_t>(median(times))};
}

Words find_eager_limit(const Channel& channel, const Words& words) {
  std::size_t at = 1;
  const auto order = extract<EagerOrder>(words, at);
  const auto peer = static_cast<int>(order.peer);
  if (order.first == 0) {
    sleep_through(channel, peer, order.latency);
    return {};
  }
  const Size limit = find_limit([&](Size size) { return is_eager(channel, peer, size, order); });
  Words end;
  append(end, Attempt{});
  channel.send(peer, Tag::eager, end);
  return {limit};
}

network::MessageCost measure_costs(Coordinator& coordinator, HostId peer, Nanoseconds latency) {
  network::MessageCost message;
  const Partner partner{peer, latency, rough_speed(coordinator, peer, latency)};
  message.eager_limit = eager_limit(coordinator, partner);
  if (message.eager_limit < largest_limit)
    message.handshake = coordinator.undilated(handshake(coordinator, partner, message.eager_limit));
  // A larger send waits for its receive, and doesn't tell its cost.
  const Size little = std::min(ping_size, message.eager_limit);
  const Size large = std::min(large_message, message.eager_limit);
  const auto on_wire = partner.speed.on_wire(static_cast<double>(large));
  const auto small = costs_at(coordinator, partner, little, 2 * latency + 500'000);
  const auto big = costs_at(coordinator, partner, large, 2 * (latency + on_wire) + 500'000);
  message.send = coordinator.undilated(small.send);
  message.receive = coordinator.undilated(small.receive);
  const double more = std::max(big.send + big.receive - small.send - small.receive, 0.0);
  if (large >= least_large)
    message.per_byte = coordinator.undilated(more / 2 / static_cast<double>(large - little));
  message.combine_per_byte = coordinator.undilated(time_combining() * 1e9);
  return message;
}

} // namespace thalweg::probe
