#include "networks.hpp"
#include "simulator/simulator.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <utility>
#include <vector>

/// Table 1 of Matsuda et al. against the simulator: hosts have no overhead and the only latency is
/// between the sites, so that the closed forms hold except for what they leave out (the parts that
/// ranks keep to themselves: 1/16 of each stage).
namespace thalweg::simulator {
namespace {

using collective::Kind;
using network::HostId;
using units::Rate;

constexpr HostId each = 16;
constexpr double latency = 0.01, rate = 125e6;
constexpr Size bytes = 32'000'000;
constexpr double whole = bytes / rate; // M/B
constexpr double tolerance = 0.09;

/// Two sites of 16 hosts at 1 Gbit/s, 10 ms apart.
network::Network two_clusters(double trunk) {
  network::Network net = network::even_network(2 * each, Time(0), Rate(rate));
  std::vector<HostId> west, east;
  for (HostId host = 0; host < 2 * each; ++host)
    (host < each ? west : east).push_back(host);
  for (const HostId a : west)
    for (const HostId b : east) {
      net.latency.set(a, b, Time(latency));
      net.latency.set(b, a, Time(latency));
    }
  net.sites = {west, east};
  net.trunks = {{"west->east", west, east, Rate(trunk)}, {"east->west", east, west, Rate(trunk)}};
  return net;
}

double simulated(const char* algorithm, Kind kind, double trunk,
                 const algorithms::Parameters& parameters = {}) {
  const network::Network net = two_clusters(trunk);
  network::Placement placement;
  for (HostId host = 0; host < 2 * each; ++host)
    placement.push_back(host);
  const Problem problem = algorithms::make_problem({.kind = kind, .ranks = 2 * each, .size = bytes},
                                                   net, placement, "test");
  return simulate(problem, algorithms::find(algorithm).build(problem, parameters)).time.value();
}

/// Returns the closed form of both of the paper's algorithms: M/nB, or the trunk's time if that is
/// more.
double closed_form(int senders, double trunk) {
  return latency + std::max(whole / senders, bytes / trunk) + 2 * whole;
}

/// Returns the time in which others hand parts over to a sender; the form leaves it out, since
/// receiving is to overlap sending.
double handed_over(int senders) { return whole / senders * (1 - senders / double{each}); }

void check_near(double time, double form) {
  CHECK(time >= (1 - tolerance) * form);
  CHECK(time <= (1 + tolerance) * form);
}

constexpr double fast = 16 * rate; // limits nobody
constexpr const char* bcast = "site-scatter-allgather";
constexpr const char* allreduce = "site-rabenseifner";

TEST_CASE("Table 1: far-first and two-tier") {
  check_near(simulated("far-first", Kind::bcast, fast), latency + 3 * whole);
  check_near(simulated("two-tier", Kind::allreduce, fast), latency + 5 * whole);
}

TEST_CASE("Table 1: the modified van de Geijn bcast and Rabenseifner allreduce") {
  test::Sample sample(3);
  for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 16}) {
    if (!sample.takes_next()) continue;
    CAPTURE(n);
    const double form = closed_form(n, fast);
    check_near(simulated(bcast, Kind::bcast, fast, {.senders = n}), form);
    // In one piece a sender gets all that is handed over at the same time, before it sends.
    const double time = simulated(allreduce, Kind::allreduce, fast, {.senders = n});
    CHECK(time >= (1 - tolerance) * form);
    CHECK(time <= form + handed_over(n));
    // In segments receiving overlaps sending.
    for (const auto& [name, kind] : {std::pair(bcast, Kind::bcast), {allreduce, Kind::allreduce}})
      check_near(simulated(name, kind, fast, {.segment_size = 1 << 20, .senders = n}), form);
  }
}

TEST_CASE("Table 1: recursive phases as printed, if receiving needn't overlap sending") {
  for (const int n : {1, 2, 4, 8, 16}) { // dividing the ranks of a site
    CAPTURE(n);
    const double form = closed_form(n, fast);
    const algorithms::Parameters printed{.senders = n, .inside = algorithms::Inside::recursive};
    for (const auto& [name, kind] : {std::pair(bcast, Kind::bcast), {allreduce, Kind::allreduce}}) {
      const double time = simulated(name, kind, fast, printed);
      CHECK(time >= (1 - tolerance) * form);
      // In an allreduce a sender also hands on what it gets from the other site.
      const double handed = (kind == Kind::bcast ? 1 : 2) * handed_over(n);
      CHECK(time <= (1 + tolerance) * (form + handed));
    }
  }
}

TEST_CASE("Table 1: more senders are never slower where nothing is shared") {
  for (const auto& [name, kind] : {std::pair(bcast, Kind::bcast), {allreduce, Kind::allreduce}}) {
    double before = 1e9;
    for (const int n : {1, 2, 4, 8, 16}) {
      const double time = simulated(name, kind, fast, {.segment_size = 1 << 20, .senders = n});
      CHECK(time < before);
      before = time;
    }
  }
}

TEST_CASE("Table 1 on trunks that limit the senders, also one slower than a NIC") {
  for (const double trunk : {4.0, 1.0, 0.5}) {
    CAPTURE(trunk);
    const int n = std::max(1, static_cast<int>(trunk)); // as are found from the trunk
    const double form = closed_form(n, trunk * rate);
    check_near(simulated(bcast, Kind::bcast, trunk * rate), form);
    const double time = simulated(allreduce, Kind::allreduce, trunk * rate);
    CHECK(time >= (1 - tolerance) * form);
    CHECK(time <= form + handed_over(n));
  }
}

TEST_CASE("a split that stops early: free for the bcast, two more steps for the allreduce") {
  for (const int n : {2, 3, 4, 6, 8, 16}) {
    CAPTURE(n);
    const double form = closed_form(n, fast);
    const algorithms::Parameters early{.senders = n, .split = algorithms::Split::early};
    const double split_time = simulated(bcast, Kind::bcast, fast, early);
    CHECK(split_time >= (1 - tolerance) * form);
    // The rest of the split, if nothing overlaps: exactly that with four senders, but for rounding.
    CHECK(split_time <= (form + handed_over(n)) * (1 + 1e-12));
    const double time = simulated(allreduce, Kind::allreduce, fast, early);
    CHECK(time >= (1 - tolerance) * form);
    CHECK(time <= form + 2 * handed_over(n)); // merging before, splitting after
  }
}

} // namespace
} // namespace thalweg::simulator
