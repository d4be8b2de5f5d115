/// Bounds with TCP's slow start where little is known of a connection's rate.
#include "../algorithms/networks.hpp"
#include "bounds/bounds.hpp"

#include <doctest/doctest.h>
#include <limits>
#include <utility>

namespace thalweg::bounds {
namespace {

using algorithms::testing::one_rank_per_host;
using doctest::Approx;
using network::Network;
using units::Rate;

constexpr float unknown = std::numeric_limits<float>::infinity();

/// Two hosts 10 ms apart, whose ports limit nothing, and connections that begin with 14,480 bytes.
Network two_hosts(Rate rate, float error) {
  Network network = algorithms::testing::named_hosts(2);
  network.initial_window = 14480;
  network.latency = network::Matrix<Time>(2, Time(1e-2));
  network.bandwidth = network::Matrix<Rate>(2, rate);
  network.bandwidth_error = network::Matrix<float>(2, error);
  return network;
}

/// The problem that keeps its network.
struct Transfer {
  Transfer(Network of, units::Size size)
      : network(std::move(of)), problem{{.kind = collective::Kind::bcast, .ranks = 2, .size = size},
                                        network,
                                        one_rank_per_host(2)} {}
  Network network;
  Problem problem;
};

TEST_CASE("windows alone limit connections whose rate isn't known or limited") {
  for (const Rate rate : {Rate(1e6), Rate::infinity()}) {
    // 14,480 bytes times 1 + 2 + ... + 512 are more than 10 MB, without the last they are less.
    const Transfer long_one(two_hosts(rate, unknown), 10'000'000);
    CHECK(bound(long_one.problem).time.value() == Approx(1e-2));
    const Bound found = bound_with_slow_start(long_one.problem);
    CHECK(found.time.value() == Approx(9 * 2e-2 + 1e-2).epsilon(1e-6));
    CHECK(found.reason == "10MB to host1 on connections that each begin with 14.5KB a round trip");
    const Transfer short_one(two_hosts(rate, unknown), 14480);
    CHECK(bound_with_slow_start(short_one.problem).reason == bound(short_one.problem).reason);
  }
}

TEST_CASE("a window that holds everything limits nothing, whatever the rate") {
  Network network = two_hosts(Rate::infinity(), unknown);
  network.initial_window = units::Size{1} << 60;
  const Transfer transfer(network, 10'000'000);
  CHECK(bound_with_slow_start(transfer.problem).reason == bound(transfer.problem).reason);
}

TEST_CASE("errors above the rate itself raise its upper end") {
  const Transfer transfer(two_hosts(Rate(1e6), 3), 10'000'000);
  CHECK(bound(transfer.problem).time.value() == Approx(10e6 / 4e6 + 1e-2));
  CHECK(bound_with_slow_start(transfer.problem).time.value() == Approx(10e6 / 4e6 + 1e-2));
}

TEST_CASE("windows count however large the error of the rate is") {
  // 14,480 bytes and twice as many take a second round trip, at any rate.
  const Transfer transfer(two_hosts(Rate(1e6), 3), 40'000);
  CHECK(bound(transfer.problem).time.value() == Approx(40e3 / 4e6 + 1e-2));
  CHECK(bound_with_slow_start(transfer.problem).time.value() == Approx(2e-2 + 1e-2).epsilon(1e-6));
}

TEST_CASE("the less is known of a rate the lower is the bound") {
  for (const units::Size size : {14'481, 40'000, 100'000, 200'000, 1'000'000, 10'000'000}) {
    CAPTURE(size);
    double before = std::numeric_limits<double>::infinity();
    for (const float error : {0.F, 0.1F, 0.5F, 0.9F, 1.F, 3.F, 5.F, 8.F, 30.F, unknown}) {
      CAPTURE(error);
      const Transfer transfer(two_hosts(Rate(1e6), error), size);
      const double found = bound_with_slow_start(transfer.problem).time.value();
      CHECK(found <= before * (1 + 1e-6));
      before = found;
    }
  }
}

} // namespace
} // namespace thalweg::bounds
