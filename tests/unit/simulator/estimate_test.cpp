#include "../algorithms/networks.hpp"
#include "simulator/estimate.hpp"
#include "unit/share.hpp"
#include "units/index.hpp"

#include <array>
#include <doctest/doctest.h>

using namespace thalweg;
using namespace thalweg::simulator;
using algorithms::Parameters;
using algorithms::testing::random_network;
using collective::Kind;
using network::Network;

namespace {

Problem on_all(const Network& net, Kind kind, Size size) {
  network::Placement placement;
  for (network::HostId host = 0; host < net.size(); ++host)
    placement.push_back(host);
  return {{.kind = kind, .ranks = net.size(), .root = 0, .size = size}, net, placement};
}

Skeleton build(const Problem& problem, const char* algorithm, const Parameters& parameters = {}) {
  return algorithms::find(algorithm).build(problem, parameters);
}

SimulationOptions at_most(std::int64_t messages) {
  SimulationOptions options;
  options.fidelity = Fidelity::fast;
  options.max_messages = messages;
  return options;
}

/// All links alike, without message costs.
Network even(network::HostId hosts) {
  return network::even_network(hosts, Time(0.01), units::Rate(1e6));
}

} // namespace

TEST_CASE("one segment is estimated as fast simulates it") {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const Network net = random_network(3 + static_cast<network::HostId>(seed), seed);
    for (const Kind kind : {Kind::bcast, Kind::reduce, Kind::allreduce}) {
      const Problem problem = on_all(net, kind, 30000);
      const Skeleton skeleton = build(problem, "binomial");
      CHECK(estimate(problem, skeleton, at_most(0)) ==
            simulate(problem, skeleton, at_most(0)).time);
    }
  }
}

TEST_CASE("messages within a host cost the processor nothing, as in the simulators") {
  constexpr Rank ranks_per_host = 16;
  const Network net = network::even_network(4, Time(1e-3), units::Rate(1e9));
  Problem problem = on_all(net, Kind::bcast, 10'000'000);
  problem.cost = {.send = Time(1e-5), .receive = Time(1e-5)};
  problem.collective.ranks = ranks_per_host * net.size();
  problem.placement.clear();
  for (Rank rank = 0; rank < problem.collective.ranks; ++rank)
    problem.placement.push_back(rank / ranks_per_host);
  const Skeleton chain = build(problem, "pipelined-chain", {.segment_size = 10'000});
  const double simulated = simulate(problem, chain, at_most(0)).time.value();
  CHECK(estimate(problem, chain, at_most(0)).value() == doctest::Approx(simulated).epsilon(0.1));
}

TEST_CASE("a chain of equal links: its latencies, a segment per link, and one for each more") {
  const Network net = even(5);
  const Problem problem = on_all(net, Kind::bcast, 100000);
  const Skeleton chain = build(problem, "pipelined-chain", {.segment_size = 1000});
  CHECK(estimate(problem, chain, at_most(0)).value() ==
        doctest::Approx(4 * (0.01 + 0.001) + 99 * 0.001));
  CHECK(estimate(problem, chain, at_most(0)).value() ==
        doctest::Approx(simulate(problem, chain, at_most(0)).time.value()));
}

TEST_CASE("equal blocks of any size are estimated as blocks of one size") {
  const Network net = even(4);
  for (const Size size : {Size{1000}, Size{4'000'000'000}, Size{5'000'000'000}, Size{1} << 40})
    for (const Kind kind : {Kind::gather, Kind::allgather, Kind::alltoall})
      for (const Size segment_size : {Size{0}, size / 4}) {
        const Problem problem = on_all(net, kind, size);
        const char* name = kind == Kind::alltoall ? "linear" : "pipelined-chain";
        const Skeleton skeleton = build(problem, name, {.segment_size = segment_size});
        Problem by_blocks = problem;
        by_blocks.collective.block_sizes.resize(index(problem.collective.blocks()), size);
        CAPTURE(size);
        CHECK(estimate(by_blocks, skeleton, at_most(0)) == estimate(problem, skeleton, at_most(0)));
        CHECK(estimate(by_blocks, skeleton, at_most(1)) == estimate(problem, skeleton, at_most(1)));
      }
}

TEST_CASE("the busiest trunk sets what each further segment takes") {
  Network net = even(4);
  net.trunks = {{"trunk", {0, 1}, {2, 3}, units::Rate(5e5)}};
  const Problem problem = on_all(net, Kind::bcast, 100000);
  Skeleton chain = build(problem, "pipelined-chain", {.segment_size = 1000});
  // 0 → 1 → 2 → 3 crosses once, at half of the links' rate.
  CHECK(estimate(problem, chain, at_most(0)).value() ==
        doctest::Approx(3 * 0.01 + 2 * 0.001 + 0.002 + 99 * 0.002));
}

TEST_CASE("a ring's closed form, from a sample of its ranks") {
  // 2 (p - 1) rounds, of a p-th of the data each.
  for (const network::HostId hosts : {16, 64}) {
    const Network net = even(hosts);
    const Size size = 1000 * hosts;
    const Problem problem = on_all(net, Kind::allreduce, size);
    const Skeleton ring = build(problem, "ring", {.order = algorithms::Order::rank});
    CHECK(estimate(problem, ring, at_most(100)).value() ==
          doctest::Approx(2 * (hosts - 1) * (0.01 + 0.001)));
    CHECK(estimate(problem, ring, at_most(100)).value() ==
          doctest::Approx(simulate(problem, ring, at_most(0)).time.value()));
  }
}

TEST_CASE("a sample sees the slowest link of an order") {
  Network net = even(64);
  net.latency.set(40, 41, Time(0.03));
  const Problem problem = on_all(net, Kind::allreduce, 64000);
  const Skeleton ring = build(problem, "ring", {.order = algorithms::Order::rank});
  CHECK(estimate(problem, ring, at_most(100)).value() == doctest::Approx(2 * 63 * (0.03 + 0.001)));
}

TEST_CASE("a sample sees the slowest ports") {
  Network net = even(64);
  net.hosts[41].egress = units::Rate(1e4);
  net.hosts[44].ingress = units::Rate(5e3);
  const Problem problem = on_all(net, Kind::allgather, 1000);
  const Skeleton linear = build(problem, "linear", {});
  CHECK(estimate(problem, linear, at_most(100)).value() >= 63 * 1000 / 5e3);
}

TEST_CASE("a ring of thousands of ranks is estimated without its transfers") {
  const Network net = even(3000);
  const Problem problem = on_all(net, Kind::allreduce, 3000000);
  const Skeleton ring = build(problem, "ring", {.order = algorithms::Order::rank});
  CHECK(estimate(problem, ring, at_most(10000)).value() ==
        doctest::Approx(2.0 * 2999 * (0.01 + 0.001)));
}

TEST_CASE("messages that wait for no other are in flight together") {
  // Everybody's own block to everybody else, eight at a time; on a mesh, to a row and a column.
  const Network net = even(64);
  const Problem problem = on_all(net, Kind::allgather, 10);
  for (const char* name : {"linear", "mesh", "bruck", "ring"}) {
    const Skeleton skeleton = build(problem, name, {.order = algorithms::Order::rank});
    const double ratio = estimate(problem, skeleton, at_most(100)).value() /
                         simulate(problem, skeleton, at_most(0)).time.value();
    CAPTURE(name);
    CHECK(ratio == doctest::Approx(1).epsilon(0.1));
  }
}

TEST_CASE("estimates are within a factor of two of what fast finds, mostly within a quarter") {
  int near = 0, all = 0;
  for (std::uint32_t seed = 0; seed < test::share_of(25U, 5); ++seed) {
    const Network net = random_network(3 + static_cast<network::HostId>(seed % 10), seed);
    for (const Kind kind : {Kind::bcast, Kind::reduce, Kind::allreduce})
      for (const algorithms::Algorithm* algorithm : algorithms::all()) {
        const Problem problem = on_all(net, kind, seed % 2 == 0 ? 3000 : 300000);
        if (!algorithm->can_do(problem.collective)) continue;
        const auto parameters = algorithm->candidates(problem);
        if (parameters.empty()) continue;
        const Skeleton skeleton = algorithm->build(problem, parameters.front());
        const double ratio =
            estimate(problem, skeleton, at_most(0)) / simulate(problem, skeleton, at_most(0)).time;
        CAPTURE(skeleton.algorithm);
        CAPTURE(skeleton.segment_size);
        CAPTURE(seed);
        CAPTURE(ratio);
        CHECK(ratio > 0.4);
        CHECK(ratio < 2.5);
        near += ratio > 0.8 && ratio < 1.25;
        ++all;
      }
  }
  CHECK(near * 10 >= all * 7);
}
