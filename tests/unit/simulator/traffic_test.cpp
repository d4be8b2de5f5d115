#include "network/network.hpp"
#include "simulator/call_sequence.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <numeric>
#include <random>
#include <string>
#include <utility>

using namespace thalweg;
using simulator::Occupancy;
using simulator::Posts;

TEST_CASE("a port is used where it is free") {
  Occupancy port;
  CHECK(port.occupy(1, 2) == 3);
  CHECK(port.occupy(6, 1) == 7);
  CHECK(port.free_from(0) == 0);
  CHECK(port.free_from(1) == 3);
  CHECK(port.free_from(2.5) == 3);
  CHECK(port.free_from(3) == 3);
  // One second before 1, three from 3 to 6, one from 7 on.
  CHECK(port.occupy(0, 5) == 8);
  CHECK(port.free_from(0) == 8);
  CHECK(port.occupy(0, 0) == 0);
  port.rebase(5);
  CHECK(port.free_from(0) == 3);
  port.rebase(3);
  CHECK(port.free_from(0) == 0);
}

TEST_CASE("nothing is served twice at a time, nor later than necessary") {
  std::mt19937 random(1);
  const auto drawn = [&](int most) { return std::uniform_int_distribution(0, most)(random); };
  for (int turn = 0; turn < 500; ++turn) {
    Occupancy port;
    std::array<bool, 400> used{}; // by second
    int before = 0;               // when the port's times begin
    for (int use = 0; use < 12; ++use) {
      int at = before + drawn(20), left = drawn(6);
      const double end = port.occupy(at - before, left) + before;
      for (; left > 0; ++at)
        if (!std::exchange(used[index(at)], true)) --left;
      CHECK(end == at);
      if (use % 4 == 3) {
        const int passed = drawn(4);
        port.rebase(passed);
        before += passed;
      }
      const int asked = before + drawn(20);
      const auto next = std::find(used.begin() + asked, used.end(), false) - used.begin();
      CHECK(port.free_from(asked - before) + before == next);
    }
  }
}

namespace {

/// Returns what a broadcast takes in a row of them, in each of which the root is as far ahead as
/// messages without a handshake let it be.
double period(const network::Network& net, const std::string& algorithm, units::Size size) {
  constexpr int calls = 40;
  network::Placement placement(index(net.size()));
  std::iota(placement.begin(), placement.end(), 0);
  const collective::Collective bcast{
      .kind = collective::Kind::bcast, .ranks = net.size(), .root = 0, .size = size};
  algorithms::Problem problem = algorithms::make_problem(bcast, net, placement, "");
  problem.cost.eager_limit = size;
  const algorithms::Skeleton skeleton = algorithms::find(algorithm).build(problem, {});
  simulator::CallSequence sequence;
  double now = 0, middle = 0;
  for (int call = 0; call < calls; ++call) {
    const Posts posts = sequence.next(problem, skeleton);
    const auto [first, last] = std::ranges::minmax(posts.exits);
    if (call == calls / 2) middle = now + last.value();
    if (call == calls - 1) return (now + last.value() - middle) / (calls - 1 - calls / 2);
    now += first.value();
  }
  return 0;
}

} // namespace

TEST_CASE("calls in a row take no less than their busiest port or connection") {
  constexpr double rate = 1e7;
  constexpr units::Size size = 100'000;
  for (const std::string algorithm : {"binomial", "flat", "scatter-allgather", "pipelined-chain"}) {
    CAPTURE(algorithm);
    for (const bool by_port : {true, false}) {
      CAPTURE(by_port);
      network::Network net = network::even_network(6, units::Time(1e-3), units::Rate(rate));
      if (by_port)
        net.hosts[3].ingress = units::Rate(rate / 10);
      else
        for (network::HostId from = 0; from < net.size(); ++from)
          if (from != 3) net.bandwidth.set(from, 3, units::Rate(rate / 10));
      const double least = by_port ? 10 * static_cast<double>(size) / rate : 0;
      const double found = period(net, algorithm, size);
      CHECK(found >= least * (1 - 1e-9));
      CHECK(found <= 1.5 * 10 * static_cast<double>(size) / rate);
    }
  }
}

TEST_CASE("calls in a row take longer with one message at a time") {
  network::Network net = network::even_network(6, units::Time(1e-3), units::Rate(1e9));
  net.message_costs["some library"].eager_limit = 1000; // so that sends wait for their receivers
  network::Placement placement(index(net.size()));
  std::iota(placement.begin(), placement.end(), 0);
  const algorithms::Problem problem =
      algorithms::make_problem({.kind = collective::Kind::bcast, .ranks = 6, .size = 1'000'000},
                               net, placement, "some library");
  const algorithms::Skeleton chain =
      algorithms::find("pipelined-chain").build(problem, {.segment_size = 10'000});
  CHECK(simulator::time_in_a_row(problem, chain, 1) > 2 * simulator::time_in_a_row(problem, chain));
}

TEST_CASE("ranks that must wait for each other take as long in a row as once") {
  const network::Network net = network::even_network(6, units::Time(1e-3), units::Rate::infinity());
  network::Placement placement(index(net.size()));
  std::iota(placement.begin(), placement.end(), 0);
  const auto times = [&](collective::Kind kind, const std::string& algorithm) {
    const algorithms::Problem problem =
        algorithms::make_problem({.kind = kind, .ranks = 6, .size = 8}, net, placement, "");
    const algorithms::Skeleton skeleton = algorithms::find(algorithm).build(problem, {});
    return std::pair(simulator::simulate(problem, skeleton).time,
                     simulator::time_in_a_row(problem, skeleton));
  };
  const auto [once, each] = times(collective::Kind::allreduce, "recursive-doubling");
  CHECK(each / once == doctest::Approx(1));
  // A chain of five hops. Its first rank never waits.
  const auto [scan_once, scan_each] = times(collective::Kind::scan, "linear-scan");
  CHECK(scan_once.value() >= 5e-3);
  CHECK(scan_each.value() < 1e-3);
}

TEST_CASE("a workload made once gives the same posts on every network") {
  constexpr units::Size size = 100'001; // which its segments and blocks don't divide
  network::Placement placement(6);
  std::iota(placement.begin(), placement.end(), 0);
  for (const std::string algorithm : {"pipelined-chain", "scatter-allgather"}) {
    CAPTURE(algorithm);
    const collective::Collective bcast{
        .kind = collective::Kind::bcast, .ranks = 6, .root = 2, .size = size};
    const network::Network usual = network::even_network(6, units::Time(1e-3), units::Rate(1e7));
    const algorithms::Problem planned = algorithms::make_problem(bcast, usual, placement, "");
    const algorithms::Skeleton skeleton = algorithms::find(algorithm).build(planned, {});
    const simulator::CallWorkload workload(bcast, skeleton, planned.cost.eager_limit);
    for (const double rate : {1e7, 1e6}) {
      network::Network net = usual;
      net.hosts[3].ingress = units::Rate(rate);
      const algorithms::Problem problem = algorithms::make_problem(bcast, net, placement, "");
      simulator::CallSequence by_workload, by_skeleton;
      for (int call = 0; call < 3; ++call) {
        const Posts posts = by_workload.next(problem, workload);
        const Posts expected = by_skeleton.next(problem, skeleton);
        CHECK(posts.exits == expected.exits);
        REQUIRE(posts.messages.size() == expected.messages.size());
        for (std::size_t i = 0; i < posts.messages.size(); ++i) {
          CHECK(posts.messages[i].from == expected.messages[i].from);
          CHECK(posts.messages[i].to == expected.messages[i].to);
          CHECK(posts.messages[i].end == expected.messages[i].end);
        }
      }
    }
  }
}
