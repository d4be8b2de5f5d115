#include "../algorithms/networks.hpp"
#include "algorithms/cache.hpp"
#include "networks.hpp"
#include "unit/share.hpp"
#include "units/index.hpp"

#include <doctest/doctest.h>
#include <random>

namespace thalweg::simulator::testing {
namespace {

SimulationOptions extrapolating(Fidelity fidelity) {
  SimulationOptions options;
  options.fidelity = fidelity;
  options.max_messages = 1;
  options.even_after = 1000;
  return options;
}

/// Makes some links slower and longer, and some hosts slower.
void slow_down(Network& net, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto draw = [&] { return static_cast<HostId>(random() % index(net.size())); };
  const auto times = [&](double least, unsigned range) {
    return least + static_cast<double>(random() % range);
  };
  for (int links = 0; links < 3; ++links) {
    const HostId from = draw(), to = draw();
    if (from == to) continue;
    net.bandwidth.set(from, to, net.bandwidth(from, to) / times(2, 40));
    net.latency.set(from, to, net.latency(from, to) * times(1, 5));
  }
  if (seed % 2 == 0) {
    network::Host& slow = net.hosts[index(draw())];
    slow.egress = slow.ingress = slow.egress / times(2, 8);
  }
}

SimulationOptions whole(Fidelity fidelity) {
  SimulationOptions options;
  options.fidelity = fidelity;
  return options;
}

constexpr Kind all_kinds[] = {Kind::bcast,          Kind::reduce, Kind::allreduce, Kind::allgather,
                              Kind::reduce_scatter, Kind::gather, Kind::scatter,   Kind::alltoall,
                              Kind::scan,           Kind::exscan};

struct Counts {
  int compared = 0, skipped = 0; ///< simulations; those that didn't simulate all messages
};

/// Compares candidates of all algorithms that have enough segments, a wide window or not.
class Comparison {
public:
  /// @param most messages of a schedule
  Comparison(const Network& network, const Placement& placement, std::uint32_t seed,
             std::int64_t most)
      : _network(network), _placement(placement), _random(seed), _most(most) {}

  void compare(Kind kind) {
    const auto ranks = static_cast<Rank>(_placement.size());
    const bool of_blocks = collective::Collective{.kind = kind, .ranks = ranks}.blocks() > 1;
    Problem problem = algorithms::make_problem(
        {.kind = kind,
         .ranks = ranks,
         .root = static_cast<Rank>(_random() % static_cast<std::uint32_t>(ranks)),
         .size = (Size{1} << (22 + _random() % 7)) / (of_blocks ? ranks : 1)},
        _network, _placement, "test");
    problem.cache = &_cache;
    for (const algorithms::Algorithm* algorithm : algorithms::all()) {
      if (!algorithm->can_do(problem.collective)) continue;
      auto parameters = algorithm->candidates(problem);
      if (parameters.empty()) continue;
      auto& drawn = parameters[_random() % parameters.size()];
      if (_random() % 2 == 0) drawn.window = static_cast<std::int32_t>(8 << _random() % 5);
      const Skeleton skeleton = algorithms::make_skeleton(*algorithm, problem, drawn);
      // Equal segments: with slow start a byte more or less can cost a round trip.
      Problem equal = problem;
      equal.collective.size -=
          problem.collective.size % skeleton.pipeline(problem.collective.size).segments;
      compare(equal, skeleton);
    }
  }
  void compare_all() {
    for (const Kind kind : all_kinds)
      compare(kind);
  }
  [[nodiscard]] Counts counts() const { return _counts; }

private:
  void compare(const Problem& problem, const Skeleton& skeleton) {
    const Size size = problem.collective.size;
    const auto segments = skeleton.pipeline(size).segments;
    if (segments < 128) return;
    const auto schedule = algorithms::expand(problem.collective.kind, skeleton, size);
    if (std::ssize(schedule.transfers()) * segments > _most) return;
    for (const Fidelity fidelity : both) {
      const Prediction all = simulate(problem, skeleton, whole(fidelity));
      const Prediction part = simulate(problem, skeleton, extrapolating(fidelity));
      CAPTURE(skeleton.algorithm);
      CAPTURE(collective::to_text(problem.collective.kind));
      CAPTURE(size);
      CAPTURE(segments);
      CHECK(part.time.value() == doctest::Approx(all.time.value()).epsilon(0.01));
      CHECK(part.messages <= all.messages);
      ++_counts.compared;
      _counts.skipped += part.messages < all.messages;
    }
  }

  const Network& _network;
  const Placement& _placement;
  std::mt19937 _random;
  std::int64_t _most;
  algorithms::Cache _cache;
  Counts _counts;
};

struct Drawn {
  Network network;
  Placement placement;
};

/// Places ranks on a network; with every third seed several on each host, if there are few.
Drawn placed_at_random(Network network, std::uint32_t seed, Rank several) {
  const Rank per_host = seed % 3 == 0 && network.size() <= 8 ? several : 1;
  auto placement =
      algorithms::testing::random_placement(per_host * network.size(), network.size(), seed);
  return {std::move(network), std::move(placement)};
}

/// Compares candidates of all kinds on networks drawn from `count` seeds.
/// @param most as for Comparison
/// @param draw returns what a seed draws
template <class Draw>
Counts compare_on_drawn(std::uint32_t first_seed, std::uint32_t count, std::int64_t most,
                        const Draw& draw) {
  Counts sum;
  for (std::uint32_t seed = first_seed; seed < first_seed + test::share_of(count, 8); ++seed) {
    CAPTURE(seed);
    const Drawn drawn = draw(seed);
    Comparison comparison(drawn.network, drawn.placement, seed, most);
    comparison.compare_all();
    sum.compared += comparison.counts().compared;
    sum.skipped += comparison.counts().skipped;
  }
  return sum;
}

/// A chain of two links, the second ten times slower.
Problem slower_and_slower(Network& net, Size size, Size eager_limit) {
  net = network::even_network(3, Time(0.05), Rate(1e6));
  net.bandwidth.set(1, 2, Rate(1e5));
  net.message_costs["test"].eager_limit = eager_limit;
  return algorithms::make_problem({.kind = Kind::bcast, .ranks = 3, .size = size}, net, one_each(3),
                                  "test");
}

} // namespace

TEST_CASE("what is extrapolated on long fat networks takes what it takes as a whole") {
  const Counts counts = compare_on_drawn(0, 16, 20000, [](std::uint32_t seed) {
    return placed_at_random(algorithms::testing::long_fat_network(seed), seed, 3);
  });
  CHECK(counts.compared > test::share_of(200, 8));
}

TEST_CASE("what keeps an even pace takes what it takes as a whole, with slow links and hosts too") {
  const Counts counts = compare_on_drawn(100, 12, 60000, [](std::uint32_t seed) {
    Network net = algorithms::testing::long_fat_network(seed);
    slow_down(net, seed);
    return placed_at_random(std::move(net), seed, 2);
  });
  CHECK(counts.compared > test::share_of(200, 8));
  CHECK(5 * counts.skipped > counts.compared);
}

TEST_CASE("what is extrapolated on other networks takes as long, with less simulated") {
  const Counts counts = compare_on_drawn(0, 24, 20000, [](std::uint32_t seed) {
    Network net = algorithms::testing::random_network(3 + static_cast<HostId>(seed % 7), seed);
    net.message_costs["test"].eager_limit = seed % 4 == 0 ? 1000 : 65536;
    if (seed % 2 == 0) net.initial_window = 14480;
    const HostId hosts = net.size();
    return Drawn{std::move(net), one_each(hosts)};
  });
  CHECK(counts.compared > test::share_of(200, 8));
  CHECK(2 * counts.skipped > counts.compared);
}

TEST_CASE("messages without a handshake pile up before a slow link") {
  Network net;
  const Size segment = 1000;
  const double slow = segment / 1e5, fast = segment / 1e6;
  for (const Size eager_limit : {Size{1} << 20, Size{100}})
    for (const std::int32_t segments : {1000, 20000}) {
      const Problem problem = slower_and_slower(net, segments * segment, eager_limit);
      const Skeleton chain =
          algorithms::find("pipelined-chain")
              .build(problem, {.segment_size = segment, .order = algorithms::Order::rank});
      for (const Fidelity fidelity : both) {
        const Prediction part = simulate(problem, chain, extrapolating(fidelity));
        CHECK(part.messages < 2 * segments);
        if (eager_limit < segment) {
          // A window of 8 messages for each round trip of 0.1 s is less than the slow link takes.
          CHECK(part.time > Time(segments * slow));
          continue;
        }
        CHECK(part.time.value() == doctest::Approx(fast + segments * slow + 0.1).epsilon(1e-3));
        CHECK(part.exits[0].value() == doctest::Approx(segments * fast).epsilon(1e-3));
      }
    }
}

TEST_CASE("a rhythm of large messages that cross may not last, which costs little") {
  Network net = network::even_network(2, Time(1e-4), Rate(70e6));
  net.latency.set(1, 0, Time(0.010));
  net.bandwidth.set(1, 0, Rate(100e6));
  for (network::Host& host : net.hosts)
    host.egress = host.ingress = Rate(5e6);
  net.hosts[0].egress = Rate(10e6);
  net.message_costs["test"].eager_limit = 1000;
  const Problem problem = algorithms::make_problem(
      {.kind = Kind::allreduce, .ranks = 3, .size = 800 * 4098}, net, {1, 0, 1}, "test");
  const Skeleton skeleton =
      algorithms::find("tree-per-rank").build(problem, {.segment_size = 4098, .window = 128});
  SimulationOptions options = whole(Fidelity::fast);
  const double time = simulate(problem, skeleton, options).time.value();
  options.max_messages = 1000;
  CHECK(simulate(problem, skeleton, options).time.value() == doctest::Approx(time).epsilon(0.02));
}

TEST_CASE("what a memo knows of a pipeline holds for longer and for shorter ones") {
  const Network net = ports_network(5);
  const Problem shortest = algorithms::make_problem({.kind = Kind::bcast, .ranks = 5, .size = 200},
                                                    net, one_each(5), "");
  const Skeleton chain = algorithms::find("pipelined-chain").build(shortest, {.segment_size = 100});
  Memo memo;
  for (const Size segments : {1000, 4000, 600, 200}) {
    Problem problem = shortest;
    problem.collective.size = segments * 100 - 30;
    const Prediction known =
        simulate(problem, chain, extrapolating(Fidelity::fluid), segments == 200 ? nullptr : &memo);
    CHECK(known.time.value() ==
          doctest::Approx(simulate(problem, chain, whole(Fidelity::fluid)).time.value())
              .epsilon(1e-3));
    CHECK((known.messages == 0) == (segments == 4000 || segments == 600));
  }
}

} // namespace thalweg::simulator::testing
