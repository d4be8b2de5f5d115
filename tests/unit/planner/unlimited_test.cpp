#include "networks.hpp"
#include "schedule/verify.hpp"
#include "unit/share.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <set>

using namespace thalweg;
using namespace thalweg::planner;
using namespace thalweg::planner::testing;

namespace {

/// Which rates of a network are unlimited.
enum class Unlimited { all, bandwidths, some };

/// Hosts that are all as far from each other. With Unlimited::some every other bandwidth, a port
/// and a trunk are limited.
Network unlimited_network(HostId hosts, Time latency, Unlimited unlimited) {
  Network net = network::even_network(hosts, latency, Rate::infinity());
  if (unlimited == Unlimited::bandwidths)
    for (network::Host& host : net.hosts)
      host.egress = host.ingress = Rate(1e8);
  if (unlimited != Unlimited::some) return net;
  net.hosts[0].egress = Rate(1e6);
  for (HostId a = 0; a < hosts; ++a)
    for (HostId b = 0; b < hosts; ++b)
      if (a != b && (a + 2 * b) % 3 == 0) net.bandwidth.set(a, b, Rate(1e7));
  if (hosts > 2)
    net.trunks = {{"limited", {0}, {1}, Rate(1e5)}, {"not", {1}, {2}, Rate::infinity()}};
  return net;
}

Placement several_each(HostId hosts, Rank each) {
  Placement placement;
  for (Rank rank = 0; rank < hosts * each; ++rank)
    placement.push_back(rank / each);
  return placement;
}

/// Plans without native and checks what is planned.
void check_plan(const Problem& problem, Effort effort) {
  PlanOptions options;
  options.disabled = {"native"};
  options.effort = effort;
  const Plan made = plan(problem, options);
  CHECK(std::isfinite(made.predicted.value()));
  CHECK(made.predicted >= Time(0));
  if (made.algorithm == native_name) {
    CHECK(std::set(problem.placement.begin(), problem.placement.end()).size() == 1);
    return;
  }
  CAPTURE(made.algorithm);
  CHECK_NOTHROW(algorithms::check(made.skeleton));
  const collective::Collective& asked = problem.collective;
  CHECK_NOTHROW(schedule::verify(asked, algorithms::expand(asked.kind, made.skeleton, asked.size)));
}

} // namespace

TEST_CASE("every collective has a plan on a network whose rates are unlimited") {
  test::Sample sample(20);
  constexpr Rank most_simulated = 6; // so that the test is short
  for (const Unlimited unlimited : {Unlimited::all, Unlimited::bandwidths, Unlimited::some})
    for (const Time latency : {Time(0), Time(0.05)})
      for (HostId hosts = 1; hosts <= 4; ++hosts) {
        const Network net = unlimited_network(hosts, latency, unlimited);
        for (Rank each = 1; each <= 3; ++each)
          for (const Kind kind : every_kind)
            for (const Effort effort : {Effort::estimate, Effort::normal}) {
              if (!sample.takes_next() ||
                  (effort == Effort::normal && hosts * each > most_simulated))
                continue;
              CAPTURE(static_cast<int>(unlimited));
              CAPTURE(latency.value());
              CAPTURE(hosts);
              CAPTURE(each);
              CAPTURE(collective::to_text(kind));
              const Size size = kind == Kind::barrier ? 0 : 1'000'000;
              const collective::Collective asked{.kind = kind, .ranks = hosts * each, .size = size};
              check_plan(algorithms::make_problem(asked, net, several_each(hosts, each), ""),
                         effort);
            }
      }
}
