#include "mapping/chains.hpp"
#include "mapping/planned.hpp"

#include <doctest/doctest.h>

namespace thalweg::mapping {
namespace {

constexpr double ms = 1e-3;

/// Four hosts, by the latencies of some paths in milliseconds; others have 9.
Network network_of_chains() {
  Network net = network::even_network(4, Time(9 * ms), units::Rate(1e9));
  net.latency.set(0, 1, Time(3.6 * ms));
  net.latency.set(1, 2, Time(0.1 * ms));
  net.latency.set(2, 3, Time(0.1 * ms));
  net.latency.set(2, 0, Time(2 * ms));
  net.latency.set(0, 3, Time(2 * ms));
  net.latency.set(3, 1, Time(2 * ms));
  return net;
}

/// A pipeline of four ranks.
Communication pipeline(double messages) {
  return {4, {{0, 1, messages, 0}, {1, 2, messages, 0}, {2, 3, messages, 0}}};
}

TEST_CASE("where nothing flows back, messages take the latencies of the longest chain") {
  const Network net = network_of_chains();
  for (const double messages : {5., 40., 1000.}) {
    CAPTURE(messages);
    const Problem problem{net, pipeline(messages), {1, 1, 1, 1}};
    const HostCosts costs(problem);
    Chains chains(problem, costs);
    CHECK(chains.time({0, 1, 2, 3}).value() == doctest::Approx(3.8 * ms));
    CHECK(chains.time({2, 0, 3, 1}).value() == doctest::Approx(6 * ms));
    CHECK(chains.time({1, 1, 1, 1}).value() == 0);
  }
}

TEST_CASE("after a collective by all ranks a chain is waited for again") {
  const Network net = network_of_chains();
  Problem problem{net, pipeline(40), {1, 1, 1, 1}};
  problem.calls = {{collective::Kind::barrier, 0, 4, 0, {}}};
  const HostCosts costs(problem);
  // Once for the phase by itself, four times for all phases in turn.
  CHECK(Chains(problem, costs).time({0, 1, 2, 3}).value() ==
        doctest::Approx((1 + 4) * 3.8 * ms / 2));
}

TEST_CASE("in a ring each round takes the mean of the latencies") {
  const Network net = network_of_chains();
  const Problem problem{
      net, {3, {{0, 1, 1200, 0}, {1, 2, 1200, 0}, {2, 0, 1200, 0}}}, {1, 1, 1, 1}};
  const HostCosts costs(problem);
  CHECK(Chains(problem, costs).time({0, 1, 2}).value() ==
        doctest::Approx(400 * (3.6 + 0.1 + 2) * ms).epsilon(0.02));
}

TEST_CASE("chains end where no rank waits for another one any more, however long they are") {
  const Network net = network::even_network(40, Time(ms), units::Rate(1e9));
  std::vector<Traffic> chain;
  Placement in_order{0};
  for (Rank rank = 1; rank < 40; ++rank) {
    chain.push_back({rank - 1, rank, 1000, 0});
    in_order.push_back(rank);
  }
  const Problem problem{net, {40, chain}, std::vector<std::int32_t>(40, 1)};
  const HostCosts costs(problem);
  CHECK(Chains(problem, costs).time(in_order).value() == doctest::Approx(39 * ms));
  // Messages that are rarer than others are waited for, too.
  const Problem other{net, {3, {{0, 1, 1000, 0}, {1, 2, 100, 0}}}, problem.slots};
  CHECK(Chains(other, HostCosts(other)).time({0, 1, 2}).value() == doctest::Approx(2 * ms));
}

TEST_CASE("numbers of messages may be means of several runs") {
  const Network net = network::even_network(2, Time(ms), units::Rate(1e9));
  for (const double messages : {29. / 3, 1000. / 3, 12.}) {
    CAPTURE(messages);
    const Problem problem{net, {2, {{0, 1, messages, 0}, {1, 0, messages, 0}}}, {1, 1}};
    const HostCosts costs(problem);
    CHECK(Chains(problem, costs).time({0, 1}).value() == doctest::Approx(messages * ms));
  }
}

TEST_CASE("a placement of longer chains isn't better, even if its ranks wait for less") {
  const Network net = network_of_chains();
  const Problem problem{net, pipeline(40), {1, 1, 1, 1}};
  const Placement usual{0, 1, 2, 3}, other{2, 0, 3, 1};
  CHECK(cost(problem, other).total() < cost(problem, usual).total());
  const auto costs = planned_costs(problem, std::vector<Placement>{usual, other}).costs;
  CHECK(costs[0]);
  CHECK_FALSE(costs[1]);
  CHECK(planned_costs(problem, std::vector<Placement>{other}).costs[0]);
}

} // namespace
} // namespace thalweg::mapping
