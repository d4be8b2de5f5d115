#include "networks.hpp"
#include "schedule/verify.hpp"

#include <doctest/doctest.h>
#include <stdexcept>

using namespace thalweg;
using namespace thalweg::simulator;
using namespace thalweg::simulator::testing;

namespace {

Problem bcast_problem(const Network& net, Rank ranks, Size size) {
  return algorithms::make_problem({.kind = Kind::bcast, .ranks = ranks, .size = size}, net,
                                  one_each(ranks), "test");
}

/// Rank 0 sends everything to rank 1.
Schedule one_message(std::int32_t segments = 1, std::int32_t window = 0) {
  Sink sink;
  sink.add(0, 1, 0, How::copy, Range{});
  return {1, {segments, 1, window}, std::move(sink)};
}

/// Rank r sends to rank r + 1 at step r.
Schedule chain(Rank ranks, std::int32_t segments) {
  Sink sink;
  for (Rank rank = 0; rank + 1 < ranks; ++rank)
    sink.add(rank, rank + 1, rank, How::copy, Range{});
  return {1, {segments, 1}, std::move(sink)};
}

/// Rank r sends to rank r + senders, all at once.
Schedule side_by_side(Rank senders) {
  Sink sink;
  for (Rank rank = 0; rank < senders; ++rank)
    sink.add(rank, rank + senders, 0, How::copy, Range{});
  return {1, {1, 1}, std::move(sink)};
}

double time_of(const Problem& problem, const Schedule& schedule, const SimulationOptions& options) {
  return simulate(problem, schedule, options).time.value();
}

} // namespace

TEST_CASE("a message takes L + m / B, and its costs") {
  Network net = ports_network(2);
  for (const Fidelity fidelity : both) {
    CHECK(time_of(bcast_problem(net, 2, 500), one_message(), with(fidelity)) ==
          doctest::Approx(0.010 + 0.5));
    CHECK(time_of(bcast_problem(net, 2, 0), one_message(), with(fidelity)) ==
          doctest::Approx(0.010));
  }
  // The CPUs copy at 250 B/s, slower than the wire.
  net.message_costs["test"] = {.send = Time(0.001),
                               .receive = Time(0.002),
                               .per_byte = Time(0.004),
                               .combine_per_byte = Time(0.01)};
  for (const Fidelity fidelity : both)
    CHECK(time_of(bcast_problem(net, 2, 500), one_message(), with(fidelity)) ==
          doctest::Approx(0.001 + 0.010 + 2.0 + 0.002));
  Sink sink;
  sink.add(0, 1, 0, How::combine_left, Range{});
  const Schedule combining(1, {1, 1}, std::move(sink));
  for (const Fidelity fidelity : both)
    CHECK(time_of(bcast_problem(net, 2, 500), combining, with(fidelity)) ==
          doctest::Approx(0.001 + 0.010 + 2.0 + 0.002 + 5.0));
}

TEST_CASE("latency and bandwidth are directed") {
  Network net = ports_network(2);
  net.latency.set(0, 1, Time(0.3));
  net.bandwidth.set(0, 1, Rate(100));
  for (const Fidelity fidelity : both)
    CHECK(time_of(bcast_problem(net, 2, 50), one_message(), with(fidelity)) ==
          doctest::Approx(0.8));
}

TEST_CASE("a large message first takes a round trip") {
  Network net = ports_network(2);
  net.latency.set(0, 1, Time(0.1));
  net.latency.set(1, 0, Time(0.2));
  net.message_costs["test"].eager_limit = 100;
  for (const Fidelity fidelity : both) {
    CHECK(time_of(bcast_problem(net, 2, 100), one_message(), with(fidelity)) ==
          doctest::Approx(0.1 + 0.1));
    CHECK(time_of(bcast_problem(net, 2, 101), one_message(), with(fidelity)) ==
          doctest::Approx(0.1 + 0.2 + 0.1 + 0.101));
  }
}

TEST_CASE("a window of one pays the round trip for each segment") {
  Network net = ports_network(2);
  net.message_costs["test"].eager_limit = 100;
  const Problem problem = bcast_problem(net, 2, 1000); // 5 segments of 200 B: 0.2 s each
  for (const Fidelity fidelity : both) {
    // A segment's handshake begins when the one before has left: 10 ms there, 10 ms back. The last
    // one arrives 10 ms later.
    CHECK(time_of(problem, one_message(5), with(fidelity, 1)) ==
          doctest::Approx(5 * (0.020 + 0.2) + 0.010));
    // With two, one flows while the other shakes hands.
    CHECK(time_of(problem, one_message(5), with(fidelity, 2)) ==
          doctest::Approx(0.020 + 1.0 + 0.010));
  }
}

TEST_CASE("segments around the eager limit all shake hands, so that none overtakes another") {
  Network net = ports_network(2);
  net.message_costs["test"].eager_limit = 100;
  Problem problem = bcast_problem(net, 2, 402); // segments of 100 and of 101 B
  // The handshakes' requests wait for rank 1. Its answers take 10 ms, all segments 0.402 s, and the
  // last one arrives 10 ms later.
  problem.entries = {Time(0), Time(0.1)};
  for (const Fidelity fidelity : both)
    CHECK(time_of(problem, one_message(4), with(fidelity)) ==
          doctest::Approx(0.1 + 0.010 + 0.402 + 0.010));
}

/// Returns a network with two sites of `each` hosts, like the scenario wan-2x16: ports of `port`,
/// and 10 ms between the sites, whose trunks carry 10 ports.
Network two_sites(HostId each, Rate port) {
  Network net = network::even_network(2 * each, Time(1e-4), port);
  std::vector<HostId> west, east;
  for (HostId host = 0; host < 2 * each; ++host) {
    auto& own = net.hosts[static_cast<std::size_t>(host)];
    own.egress = own.ingress = port;
    (host < each ? west : east).push_back(host);
    for (HostId other = 0; other < 2 * each; ++other)
      if ((host < each) != (other < each)) net.latency.set(host, other, Time(0.010));
  }
  net.trunks = {{"east", west, east, 10 * port}, {"west", east, west, 10 * port}};
  net.sites = {west, east};
  return net;
}

TEST_CASE("all algorithms can be simulated with segments around the eager limit") {
  const Size limit = 65536, size = 20 * limit + 10; // segments of `limit` and one byte more
  const Network net = two_sites(3, Rate(12.5e6));
  Problem problem{{.ranks = 6, .size = size}, net, one_each(6)};
  int pipelines = 0;
  const auto check = [&](const algorithms::Algorithm& algorithm) {
    const Skeleton skeleton = algorithm.build(problem, {.segment_size = limit + 1});
    pipelines += skeleton.pipeline(size).segments > 1;
    const auto time = [&](Size eager_limit) {
      problem.cost.eager_limit = eager_limit;
      return simulate(problem, skeleton, with(Fidelity::fast)).time.value();
    };
    CAPTURE(algorithm.name());
    CAPTURE(collective::to_text(problem.collective.kind));
    // What is above the limit only in some segments shakes hands as if it were in all.
    CHECK(time(limit) == time(limit - 1));
  };
  for (const Kind kind : {Kind::bcast, Kind::reduce, Kind::allreduce, Kind::scan})
    for (const algorithms::Algorithm* algorithm : algorithms::all()) {
      problem.collective.kind = kind;
      problem.cost = network::no_cost;
      if (algorithm->can_do(problem.collective) && !algorithm->candidates(problem).empty())
        check(*algorithm);
    }
  CHECK(pipelines > 20);
}

TEST_CASE("far-first and two-tier take what Matsuda's cost model says") {
  // 32 MB, of which a port passes 12.5 MB/s: M / B = 2.56 s. To the far site in L + M / B; a
  // scatter and an allgather pass 15/16 of the data through a port each. The paper rounds that up
  // to M / B, so that its 7.69 s and 12.81 s are above.
  Network net = two_sites(16, Rate(12.5e6));
  const double whole = 32e6 / 12.5e6, phase = whole * 15 / 16, latency = 0.010;
  const auto time = [&](const char* name, Kind kind) {
    const Problem problem = algorithms::make_problem(
        {.kind = kind, .ranks = 32, .size = 32'000'000}, net, one_each(32), "test");
    return simulate(problem, algorithms::find(name).build(problem, {})).time.value();
  };
  for (const Size eager_limit : {Size{65536}, Size{1} << 30}) {
    net.message_costs["test"].eager_limit = eager_limit;
    CHECK(time("far-first", Kind::bcast) ==
          doctest::Approx(latency + whole + 2 * phase).epsilon(0.01));
    CHECK(time("two-tier", Kind::allreduce) ==
          doctest::Approx(latency + whole + 4 * phase).epsilon(0.01));
    CHECK(time("two-tier", Kind::reduce) ==
          doctest::Approx(latency + whole + 2 * phase).epsilon(0.01));
  }
}

TEST_CASE("binomial trees take a message per round") {
  Network net = network::even_network(32, Time(1e-4), Rate(12.5e6));
  for (network::Host& host : net.hosts)
    host.egress = host.ingress = Rate(12.5e6);
  const Problem problem = algorithms::make_problem(
      {.kind = Kind::bcast, .ranks = 32, .size = 32'000'000}, net, one_each(32), "test");
  for (const char* name : {"binomial", "hierarchical"})
    CHECK(simulate(problem, algorithms::find(name).build(problem, {})).time.value() ==
          doctest::Approx(5 * (1e-4 + 2.56)));
}

TEST_CASE("a schedule has the window that it asks for, up to what the user allows") {
  const auto within = [](std::int32_t own, std::int32_t most) {
    return schedule::Pipeline{1, 1, own}.window_within(most);
  };
  // If nothing is set: the window that it asks for, within reason.
  CHECK(within(0, 0) == schedule::usual_window);
  CHECK(within(1, 0) == 1);
  CHECK(within(64, 0) == 64);
  CHECK(within(1000, 0) == schedule::widest_window);
  // With THALWEG_WINDOW: never more, and this number for schedules that don't ask.
  CHECK(within(0, 4) == 4);
  CHECK(within(0, 1000) == 1000);
  CHECK(within(1, 4) == 1);
  CHECK(within(64, 4) == 4);
  CHECK(within(64, 100) == 64);
}

TEST_CASE("a wide window fills a long path") {
  // 100 messages of 1 ms each, which shake hands: 10 ms there, 10 ms back, 10 ms there. With 8 at a
  // time a rank waits for the long path, with 64 its port is never idle.
  Network net = ports_network(2);
  net.message_costs["test"].eager_limit = 0;
  const Problem problem = bcast_problem(net, 2, 100);
  for (const Fidelity fidelity : both) {
    const auto time = [&](std::int32_t own, int window) {
      return time_of(problem, one_message(100, own), with(fidelity, window));
    };
    CHECK(time(64, 0) == doctest::Approx(0.020 + 0.100 + 0.010));
    CHECK(time(64, 64) == time(64, 0));
    CHECK(time(0, 64) == time(64, 0));
    CHECK(time(0, 0) == time(0, 8));
    CHECK(time(64, 8) == time(0, 8));
    CHECK(time(0, 8) > 2 * time(64, 0));
  }
}

TEST_CASE("a schedule's window holds where it is narrower than the executor's") {
  // Three messages of 0.5 s from one port: one after the other, or all at the end.
  const Network net = ports_network(4);
  const auto first_end = [&](std::int32_t own, int window) {
    Sink sink;
    for (Rank to = 1; to <= 3; ++to)
      sink.add(0, to, to, How::copy, Range{});
    const Schedule schedule(1, {1, 1, own}, std::move(sink));
    return simulate(bcast_problem(net, 4, 500), schedule, with(Fidelity::fluid, window))
        .timeline[0]
        .end.value();
  };
  CHECK(first_end(0, 8) == doctest::Approx(1.510));
  CHECK(first_end(0, 1) == doctest::Approx(0.510));
  CHECK(first_end(1, 8) == doctest::Approx(0.510));
  CHECK(first_end(2, 8) == doctest::Approx(1.010));
  CHECK(first_end(8, 1) == doctest::Approx(0.510));
  CHECK_THROWS_AS(Schedule(1, {1, 1, -1}, {}), std::invalid_argument);
}

TEST_CASE("what is extrapolated keeps its window") {
  Network net = ports_network(2);
  net.message_costs["test"].eager_limit = 1;
  SimulationOptions options = with(Fidelity::fluid, 0);
  options.timeline = false;
  const auto check = [&](std::int32_t own, Size segment, double time) {
    const Problem problem = bcast_problem(net, 2, segment * 2000);
    options.max_messages = 0;
    const double whole = time_of(problem, one_message(2000, own), options);
    CHECK(whole == doctest::Approx(time).epsilon(1e-6));
    options.max_messages = 100;
    CHECK(time_of(problem, one_message(2000, own), options) ==
          doctest::Approx(whole).epsilon(1e-3));
  };
  check(1, 200, 2000 * (0.020 + 0.2) + 0.010);
  check(64, 2, 0.020 + 2000 * 0.002 + 0.010);
}

TEST_CASE("receives outside the window are not posted") {
  // Rank 2 receives from 0 at step 0, then from 1 at step 1; with a window of 1 the handshake of
  // the second begins only when the first is in place.
  Network net = ports_network(3);
  net.message_costs["test"].eager_limit = 100;
  Sink sink;
  sink.add(0, 2, 0, How::copy, Range{0, 1});
  sink.add(1, 2, 1, How::copy, Range{1, 1});
  const Schedule schedule(3, {1, 1}, std::move(sink));
  const Problem problem = algorithms::make_problem(
      {.kind = Kind::gather, .ranks = 3, .root = 2, .size = 300}, net, one_each(3), "test");
  // Blocks of 300 B. First: 10 + 10 ms, 0.3 s, 10 ms. Then 10 ms for the answer.
  for (const Fidelity fidelity : both)
    CHECK(time_of(problem, schedule, with(fidelity, 1)) ==
          doctest::Approx(0.330 + 0.010 + 0.3 + 0.010));
}

TEST_CASE("two flows share a port") {
  // Both of rank 0's messages of 500 B leave through 1000 B/s.
  const Network net = ports_network(3);
  Sink sink;
  sink.add(0, 1, 0, How::copy, Range{});
  sink.add(0, 2, 0, How::copy, Range{});
  const Schedule schedule(1, {1, 1}, std::move(sink));
  const Prediction fluid = simulate(bcast_problem(net, 3, 500), schedule, with(Fidelity::fluid));
  CHECK(fluid.timeline[0].end.value() == doctest::Approx(1.010));
  CHECK(fluid.timeline[1].end.value() == doctest::Approx(1.010));
  const Prediction fast = simulate(bcast_problem(net, 3, 500), schedule, with(Fidelity::fast));
  CHECK(fast.timeline[0].end.value() == doctest::Approx(0.510));
  CHECK(fast.timeline[1].start.value() == doctest::Approx(0.5));
  CHECK(fast.timeline[1].end.value() == doctest::Approx(1.010));
  CHECK(fast.timeline[1].cause == 0);
  CHECK(fast.exits[0].value() == doctest::Approx(1.0));
  CHECK(fast.exits[2].value() == doctest::Approx(1.010));
}

TEST_CASE("a slow flow leaves the rest of a port to the others") {
  Network net = ports_network(3);
  net.bandwidth.set(0, 1, Rate(100));
  Sink sink;
  sink.add(0, 1, 0, How::copy, Range{});
  sink.add(0, 2, 0, How::copy, Range{});
  const Schedule schedule(1, {1, 1}, std::move(sink));
  const Prediction fluid = simulate(bcast_problem(net, 3, 90), schedule, with(Fidelity::fluid));
  CHECK(fluid.timeline[0].end.value() == doctest::Approx(0.010 + 0.9)); // 100 B/s
  CHECK(fluid.timeline[1].end.value() == doctest::Approx(0.010 + 0.1)); // 900 B/s
}

TEST_CASE("a trunk is shared by all flows through it") {
  Network net = ports_network(8);
  net.trunks.push_back({"west->east", {0, 1, 2, 3}, {4, 5, 6, 7}, Rate(2000)});
  Problem problem = bcast_problem(net, 8, 500);
  // 4 flows of 500 B through 2000 B/s.
  for (const Fidelity fidelity : both)
    CHECK(time_of(problem, side_by_side(4), with(fidelity)) == doctest::Approx(1.010));
  // Between the halves of one side nothing is shared.
  net.trunks[0].to = {5, 6, 7};
  const Prediction fluid = simulate(problem, side_by_side(4), with(Fidelity::fluid));
  CHECK(fluid.timeline[0].end.value() == doctest::Approx(0.510));
  CHECK(fluid.timeline[1].end.value() == doctest::Approx(0.75 + 0.010));
}

TEST_CASE("a flow speeds up when another ends") {
  // 200 B and 600 B share 1000 B/s: 0.4 s for both, then 400 B at full speed.
  const Network net = ports_network(3);
  Sink sink;
  sink.add(0, 1, 0, How::copy, Range{0, 1});
  sink.add(0, 2, 0, How::copy, Range{1, 1});
  const Schedule schedule(2, {1, 1}, std::move(sink), {1, 3});
  const Prediction fluid = simulate(bcast_problem(net, 3, 800), schedule, with(Fidelity::fluid));
  CHECK(fluid.timeline[0].end.value() == doctest::Approx(0.410));
  CHECK(fluid.timeline[1].end.value() == doctest::Approx(0.810));
}

TEST_CASE("a pipelined chain takes (n - 2 + S) segments and n - 1 latencies") {
  const Network net = ports_network(5);
  for (const Fidelity fidelity : both)
    for (const std::int32_t segments : {1, 2, 7, 40}) {
      const double segment = 0.1;
      const Problem problem = bcast_problem(net, 5, 100 * segments);
      CHECK(time_of(problem, chain(5, segments), with(fidelity)) ==
            doctest::Approx(4 * 0.010 + (3 + segments) * segment));
    }
}

TEST_CASE("a binomial tree of small messages takes its depth in latencies") {
  const Network net = ports_network(8);
  Sink sink;
  for (const Rank distance : {4, 2, 1})
    for (Rank rank = 0; rank < 8; rank += 2 * distance)
      sink.add(rank, rank + distance,
               distance == 4   ? 0
               : distance == 2 ? 1
                               : 2,
               How::copy, Range{});
  const Schedule schedule(1, {1, 1}, std::move(sink));
  // m = 100 B: 0.1 s. Fast: rank 0 sends at 0, 0.1, 0.2; 4 has it at 0.11, sends to 6 by 0.22, 6 to
  // 7 by 0.33.
  CHECK(time_of(bcast_problem(net, 8, 100), schedule, with(Fidelity::fast)) ==
        doctest::Approx(0.33));
  // Fluid: rank 0's three messages share its port and end at 0.31; 2 sends to 3 until 0.42. 4 has
  // two messages to send at 0.31, done at 0.52; 6 sends to 7 until 0.63.
  CHECK(time_of(bcast_problem(net, 8, 100), schedule, with(Fidelity::fluid)) ==
        doctest::Approx(0.63));
}

TEST_CASE("ranks of one host share its ports and pass memory freely") {
  Network net = ports_network(2);
  net.latency.set(0, 0, Time(0.001));
  net.bandwidth.set(0, 0, Rate(1e5));
  // Ranks 0, 1, 2 on host 0, rank 3 on host 1: 0 -> 1 by memory, 0 -> 3 and 2 -> 3 by the port.
  Sink sink;
  sink.add(0, 1, 0, How::copy, Range{});
  sink.add(0, 3, 0, How::copy, Range{});
  sink.add(2, 3, 0, How::copy, Range{});
  const Schedule schedule(1, {1, 1}, std::move(sink));
  const Problem problem = algorithms::make_problem({.kind = Kind::bcast, .ranks = 4, .size = 500},
                                                   net, {0, 0, 0, 1}, "test");
  for (const Fidelity fidelity : both) {
    const Prediction prediction = simulate(problem, schedule, with(fidelity));
    CHECK(prediction.timeline[0].end.value() == doctest::Approx(0.001 + 0.005));
    CHECK(prediction.time.value() == doctest::Approx(1.010));
  }
  net.bandwidth.set(0, 0, Rate::infinity());
  for (const Fidelity fidelity : both)
    CHECK(simulate(problem, schedule, with(fidelity)).timeline[0].end.value() ==
          doctest::Approx(0.001));
}

TEST_CASE("one CPU serves a host's messages one after the other") {
  Network net = ports_network(3);
  net.message_costs["test"].receive = Time(0.5);
  // Two messages of 10 B reach rank 2 together.
  Sink sink;
  sink.add(0, 2, 0, How::copy, Range{0, 1});
  sink.add(1, 2, 0, How::copy, Range{1, 1});
  const Schedule schedule(2, {1, 1}, std::move(sink));
  const Problem problem = algorithms::make_problem({.kind = Kind::bcast, .ranks = 3, .size = 20},
                                                   net, one_each(3), "test");
  CHECK(time_of(problem, schedule, with(Fidelity::fluid)) == doctest::Approx(0.010 + 0.020 + 1.0));
  CHECK(time_of(problem, schedule, with(Fidelity::fast)) == doctest::Approx(0.010 + 0.010 + 1.0));
}

TEST_CASE("a send waits for what it reads and for nothing else") {
  // Rank 1 gets chunk 0 at step 0 and passes it on at step 1, beside a chunk 1 of its own.
  const Network net = ports_network(4);
  Sink sink;
  sink.add(0, 1, 0, How::copy, Range{0, 1});
  sink.add(1, 2, 1, How::copy, Range{0, 1});
  sink.add(1, 3, 1, How::copy, Range{1, 1});
  const Schedule schedule(2, {1, 1}, std::move(sink));
  for (const Fidelity fidelity : both) {
    const auto events = simulate(bcast_problem(net, 4, 200), schedule, with(fidelity)).timeline;
    CHECK(events[1].start.value() == doctest::Approx(0.110));
    CHECK(events[1].cause == 0);
    CHECK(events[2].start.value() == doctest::Approx(0));
    CHECK(events[2].cause == -1);
  }
}

TEST_CASE("transfers of one step read the state before it") {
  // An exchange: both send at 0, neither waits for the other's data.
  const Network net = ports_network(2);
  Sink sink;
  sink.add(0, 1, 0, How::combine_right, Range{});
  sink.add(1, 0, 0, How::combine_left, Range{});
  const Schedule schedule(1, {1, 1}, std::move(sink));
  const Problem problem = algorithms::make_problem(
      {.kind = Kind::allreduce, .ranks = 2, .size = 100}, net, one_each(2), "test");
  for (const Fidelity fidelity : both)
    CHECK(time_of(problem, schedule, with(fidelity)) == doctest::Approx(0.110));
}

TEST_CASE("a combination waits for the one before it") {
  // Rank 2 combines 0's message, which is slow, before 1's, which is there long before.
  Network net = ports_network(3);
  net.latency.set(0, 2, Time(1));
  net.message_costs["test"].combine_per_byte = Time(0.01);
  Sink sink;
  sink.add(0, 2, 0, How::combine_left, Range{});
  sink.add(1, 2, 1, How::combine_left, Range{});
  const Schedule schedule(1, {1, 1}, std::move(sink));
  const Problem problem = algorithms::make_problem(
      {.kind = Kind::reduce, .ranks = 3, .root = 2, .size = 100}, net, one_each(3), "test");
  // 1 s, 0.1 s on the wire beside the other's (fluid: shared until 0.21, it has gone by then).
  CHECK(time_of(problem, schedule, with(Fidelity::fast)) == doctest::Approx(1.1 + 1 + 1));
}

TEST_CASE("local moves cost a copy") {
  Network net = ports_network(2);
  net.message_costs["test"].per_byte = Time(0.001);
  Sink sink;
  sink.add(0, 0, 0, How::copy, Range{}, 0, 1);
  sink.add(0, 1, 1, How::copy, Range{}, 1, 0);
  const Schedule schedule(1, {1, 1}, std::move(sink));
  for (const Fidelity fidelity : both)
    CHECK(time_of(bcast_problem(net, 2, 500), schedule, with(fidelity)) ==
          doctest::Approx(0.5 + 0.510));
}

TEST_CASE("transfers without bytes are left out") {
  // 2 B in three chunks: the first is empty.
  const Network net = ports_network(4);
  Sink sink;
  for (Rank rank = 1; rank < 4; ++rank)
    sink.add(0, rank, 0, How::copy, Range{rank - 1, 1});
  const Schedule schedule(3, {1, 1}, std::move(sink));
  for (const Fidelity fidelity : both) {
    CHECK(simulate(bcast_problem(net, 4, 2), schedule, with(fidelity)).timeline.size() == 2);
    CHECK(simulate(bcast_problem(net, 4, 0), schedule, with(fidelity)).timeline.size() == 3);
  }
}

TEST_CASE("slow start doubles the window every round trip") {
  // Round trip 1 s, 1000 B/s: 100, 200, 400 and 800 B in the first four seconds, then no limit.
  Network net = network::even_network(2, Time(0.5), Rate(1000));
  net.initial_window = 100;
  const auto time = [&](Size size) {
    return time_of(bcast_problem(net, 2, size), one_message(), with(Fidelity::fluid));
  };
  CHECK(time(100) == doctest::Approx(0.6));  // the first round, at full rate
  CHECK(time(700) == doctest::Approx(2.9));  // the third
  CHECK(time(1500) == doctest::Approx(4.3)); // the fifth, with no limit
  CHECK(time(2500) == doctest::Approx(5.5));
}

TEST_CASE("small messages use up the first window sooner") {
  // Ten of 10 B go at once; the others, after the round trip of 1 s.
  Network net = network::even_network(2, Time(0.5), Rate(1000));
  net.initial_window = 150;
  CHECK(time_of(bcast_problem(net, 2, 200), chain(2, 20), with(Fidelity::fluid)) ==
        doctest::Approx(1.6));
  CHECK(time_of(bcast_problem(net, 2, 200), chain(2, 2), with(Fidelity::fluid)) ==
        doctest::Approx(1.55));
}

TEST_CASE("an ingress passes what comes from near and far at its rate") {
  // Host 0 is 1 s away from host 2. What it sends at first comes together with what host 1 sends
  // one second later.
  Network net = ports_network(3);
  net.latency.set(0, 2, Time(1));
  net.latency.set(1, 2, Time(0));
  Sink sink;
  sink.add(0, 2, 0, How::copy, Range{0, 1});
  sink.add(1, 2, 0, How::copy, Range{1, 1});
  const Schedule schedule(3, {1, 1}, std::move(sink));
  Problem problem = algorithms::make_problem(
      {.kind = Kind::gather, .ranks = 3, .root = 2, .size = 1000}, net, one_each(3), "");
  problem.entries = {Time(0), Time(1), Time(0)};
  for (const Fidelity fidelity : both)
    CHECK(time_of(problem, schedule, with(fidelity)) == doctest::Approx(3));
  // From 0.5 s on both send at half of the rate: 250 B of the near host's have passed before the
  // first of the far one's come, the other 1750 B pass one after the other.
  problem.entries[1] = Time(0.5);
  CHECK(time_of(problem, schedule, with(Fidelity::fluid)) == doctest::Approx(1 + 1.75));
}

TEST_CASE("long pipelines are extrapolated") {
  Network net = ports_network(6);
  net.message_costs["test"] = {.send = Time(0.001), .receive = Time(0.002), .eager_limit = 50};
  const Problem problem = bcast_problem(net, 6, 100 * 1000);
  for (const Fidelity fidelity : both) {
    SimulationOptions options = with(fidelity);
    options.timeline = false;
    const double all = time_of(problem, chain(6, 1000), options);
    options.max_messages = 1;
    CHECK(time_of(problem, chain(6, 1000), options) == doctest::Approx(all).epsilon(1e-6));
  }
}

TEST_CASE("the critical path leads from the beginning to the last event") {
  const Network net = ports_network(4);
  const auto events =
      simulate(bcast_problem(net, 4, 400), chain(4, 4), with(Fidelity::fluid)).timeline;
  const auto path = critical_path(events);
  REQUIRE(!path.empty());
  CHECK(path.front().cause == -1);
  CHECK(path.back().to == 3);
  CHECK(path.back().segment == 3);
  for (std::size_t i = 1; i < path.size(); ++i)
    CHECK(path[i - 1].start <= path[i].start);
}

TEST_CASE("a part of a timeline has no critical path") {
  SimulatedMessage first, second;
  first.cause = 1;
  second.cause = 0;
  first.end = Time(1);
  CHECK_THROWS_WITH_AS(critical_path({first}), doctest::Contains("give a whole one"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(critical_path({first, second}), doctest::Contains("give a whole one"),
                       std::invalid_argument);
}

TEST_CASE("the last step of the last segment is representable") {
  const auto last = schedule::last_step;
  Sink sink;
  sink.add(0, 1, last, How::copy, Range{});
  const Schedule schedule(1, {2, last}, std::move(sink));
  const Network net = ports_network(2);
  const Problem problem = bcast_problem(net, 2, 200);
  CHECK_NOTHROW(schedule::verify(problem.collective, schedule));
  const auto timeline = simulate(problem, schedule, with(Fidelity::fast)).timeline;
  CHECK(timeline[0].step == last);
  CHECK(timeline[1].step > last);
}

TEST_CASE("wrong input is refused") {
  const Network net = ports_network(2);
  Problem problem = bcast_problem(net, 2, 1);
  problem.placement = {0, 2};
  CHECK_THROWS_AS(simulate(problem, one_message()), std::invalid_argument);
  problem.placement = {0};
  CHECK_THROWS_AS(simulate(problem, one_message()), std::invalid_argument);
  CHECK_THROWS_AS(simulate(bcast_problem(net, 2, 1), one_message(), with(Fidelity::fast, -1)),
                  std::invalid_argument);
}

TEST_CASE("ranks begin when they enter") {
  const Network net = ports_network(3);
  Problem problem = bcast_problem(net, 3, 100); // 0.1 s for a message, 10 ms away
  for (const Fidelity fidelity : both) {
    problem.entries = {};
    const Prediction together = simulate(problem, chain(3, 1), with(fidelity));
    problem.entries.assign(3, Time(2));
    const Prediction later = simulate(problem, chain(3, 1), with(fidelity));
    for (std::size_t rank = 0; rank < 3; ++rank)
      CHECK(later.exits[rank].value() == doctest::Approx(together.exits[rank].value() + 2));
    // The data waits for rank 1, which passes it on.
    problem.entries = {Time(0), Time(1), Time(0)};
    const Prediction one = simulate(problem, chain(3, 1), with(fidelity));
    CHECK(one.exits[0].value() == doctest::Approx(0.1));
    CHECK(one.time.value() == doctest::Approx(1 + 0.11));
    // A late last rank needs no other rank then.
    problem.entries = {Time(0), Time(0), Time(5)};
    CHECK(simulate(problem, chain(3, 1), with(fidelity)).time == Time(5));
  }
}

TEST_CASE("entry times that aren't are refused") {
  const Network net = ports_network(2);
  Problem problem = bcast_problem(net, 2, 100);
  problem.entries = {Time(0)};
  CHECK_THROWS_AS(check(problem), std::invalid_argument);
  problem.entries = {Time(0), Time(-1)};
  CHECK_THROWS_AS(check(problem), std::invalid_argument);
  problem.entries = {Time(0), Time::infinity()};
  CHECK_THROWS_AS(check(problem), std::invalid_argument);
}
