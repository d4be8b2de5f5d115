#include "networks.hpp"
#include "simulator/simulator.hpp"

#include <doctest/doctest.h>
#include <vector>

/// Table 1 of Matsuda et al. against the simulator: hosts without overhead and with no latency but
/// between the sites, where the closed forms hold but for what they leave out (the parts that ranks
/// keep to themselves: 1/16 of each stage).
namespace thalweg::simulator {
namespace {

using collective::Kind;
using network::HostId;
using units::Rate;

constexpr HostId each = 16;
constexpr double latency = 0.01, rate = 125e6;
constexpr Size bytes = 32'000'000;
constexpr double whole = bytes / rate; // M/B
constexpr double tolerance = 0.08;

/// Two sites of 16 hosts at 1 Gbit/s, 10 ms apart.
network::Network two_clusters(double trunk) {
  network::Network net = network::even_network(2 * each, Time(0), Rate(rate));
  std::vector<HostId> west, east;
  for (HostId host = 0; host < 2 * each; ++host)
    (host < each ? west : east).push_back(host);
  for (const HostId a : west)
    for (const HostId b : east)
      net.latency(a, b) = net.latency(b, a) = Time(latency);
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
  const Problem problem{{.kind = kind, .ranks = 2 * each, .size = bytes}, net, placement};
  return simulate(problem, algorithms::find(algorithm).build(problem, parameters)).time.value();
}

/// M/nB, or what the trunk takes.
double crossing(int senders, double trunk) { return std::max(whole / senders, bytes / trunk); }

TEST_CASE("Table 1: far-first and two-tier") {
  CHECK(simulated("far-first", Kind::bcast, 10 * rate) ==
        doctest::Approx(latency + 3 * whole).epsilon(tolerance));
  CHECK(simulated("two-tier", Kind::allreduce, 10 * rate) ==
        doctest::Approx(latency + 5 * whole).epsilon(tolerance));
}

TEST_CASE("Table 1: the modified van de Geijn bcast and Rabenseifner allreduce") {
  for (const bool early : {false, true})
    for (const int senders : {1, 2, 3, 4, 5, 6, 7, 8, 16}) {
      CAPTURE(senders);
      CAPTURE(early);
      const algorithms::Parameters parameters{.senders = senders, .early_split = early};
      const double form = latency + crossing(senders, 16 * rate) + 2 * whole;
      MESSAGE(senders << " " << early << " form " << form << " bcast "
                      << simulated("site-scatter-allgather", Kind::bcast, 16 * rate, parameters)
                      << " allreduce "
                      << simulated("site-rabenseifner", Kind::allreduce, 16 * rate, parameters));
    }
}

TEST_CASE("Table 1 on trunks that limit the senders, also one slower than a NIC") {
  for (const double trunk : {4.0, 1.0, 0.5}) {
    CAPTURE(trunk);
    const double form = latency + crossing(8, trunk * rate) + 2 * whole;
    MESSAGE(trunk << " form " << form << " bcast "
                  << simulated("site-scatter-allgather", Kind::bcast, trunk * rate) << " allreduce "
                  << simulated("site-rabenseifner", Kind::allreduce, trunk * rate));
  }
}

} // namespace
} // namespace thalweg::simulator
