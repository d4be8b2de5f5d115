#include "algorithms/quick.hpp"
#include "bounds/bounds.hpp"
#include "networks.hpp"
#include "planner/selection.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace thalweg;
using namespace thalweg::planner;
using namespace thalweg::planner::testing;

namespace {

constexpr std::array large_kinds{Kind::bcast, Kind::allreduce, Kind::allgather};

/// Equal sites, 10 ms apart, with trunks from each one to all others, kept by classes.
Network equal_sites(HostId sites, HostId each) {
  using network::HostPairs;
  using network::Matrix;
  Network net = network::even_network(sites * each, Time(1e-4), Rate(12.5e6));
  std::vector<std::int32_t> class_of;
  for (HostId host = 0; host < net.size(); ++host)
    class_of.push_back(host / each);
  const auto classes = static_cast<std::size_t>(sites);
  Matrix<Time> latency(classes, Time(10e-3));
  net.sites.assign(classes, {});
  for (HostId site = 0; site < sites; ++site) {
    latency(site, site) = Time(1e-4);
    network::Trunk trunk{"from site" + std::to_string(site), {}, {}, Rate(125e6)};
    for (HostId host = 0; host < net.size(); ++host)
      (host / each == site ? trunk.from : trunk.to).push_back(host);
    net.sites[static_cast<std::size_t>(site)] = trunk.from;
    net.trunks.push_back(std::move(trunk));
  }
  net.latency = HostPairs<Time>({class_of, latency, std::vector<Time>(classes)});
  net.message_costs["openmpi"] = two_sites(1).message_costs["openmpi"];
  return net;
}

} // namespace

TEST_CASE("a plan is the same however the network keeps its pairs") {
  const Network blocks = equal_sites(3, 4);
  REQUIRE(!blocks.latency.is_dense());
  Network dense = blocks;
  dense.latency.make_dense();
  dense.bandwidth.make_dense();
  test::Sample sample(4);
  for (const Effort effort : {Effort::estimate, Effort::normal})
    for (const Kind kind : large_kinds)
      for (const Size size : {8, 100'000}) {
        if (!sample.takes_next()) continue;
        PlanOptions options;
        options.library = "openmpi";
        options.effort = effort;
        const collective::Collective asked{.kind = kind, .ranks = 12, .size = size};
        const auto planned = [&](const Network& net) {
          return plan(algorithms::make_problem(asked, net, one_each(12), "openmpi"), options);
        };
        const Plan one = planned(blocks), other = planned(dense);
        CHECK(one.skeleton == other.skeleton);
        CHECK(one.predicted == other.predicted);
      }
}

TEST_CASE("20,000 ranks are planned without looking at all pairs of hosts") {
  const Network net = equal_sites(20, 1000);
  PlanOptions options;
  options.library = "openmpi";
  options.effort = Effort::estimate;
  options.disabled = {"native"};
  test::Sample sample(3);
  for (const Kind kind : large_kinds) {
    if (!sample.takes_next()) continue;
    const collective::Collective asked{.kind = kind, .ranks = 20'000, .size = 1000};
    const Plan made =
        plan(algorithms::make_problem(asked, net, one_each(20'000), "openmpi"), options);
    if (made.algorithm != native_name) CHECK(made.skeleton.ranks == 20'000);
    CHECK(made.predicted > Time(0));
  }
}

TEST_CASE("what looks at all pairs of hosts isn't tried with 20,000 ranks") {
  for (const char* name : {"group-tree", "paced-linear", "slowest-first"}) {
    const algorithms::Algorithm& algorithm = algorithms::find(name);
    CHECK(algorithm.builds_quickly(algorithms::most_squared_ranks));
    CHECK(!algorithm.builds_quickly(20'000));
  }
}

TEST_CASE("a few ranks have a bound however large their network is") {
  const Network net = equal_sites(10, 1000);
  PlanOptions options;
  options.library = "openmpi";
  const collective::Collective asked{.kind = Kind::bcast, .ranks = 4, .size = 1000};
  const network::Placement placement{0, 1, 5000, 9000};
  const Plan made = plan(algorithms::make_problem(asked, net, placement, "openmpi"), options);
  CHECK(made.bound.time > Time(0));
  CHECK(made.bound.time <= made.predicted);
}

TEST_CASE("ranks on more hosts than have matrices have no bound, whoever asks for it") {
  const Network net = equal_sites(10, 1000);
  const collective::Collective asked{.kind = Kind::allreduce, .ranks = 10'000, .size = 1000};
  const algorithms::Problem problem =
      algorithms::make_problem(asked, net, one_each(10'000), "openmpi");
  CHECK(bounds::bound(problem).reason.empty());
  CHECK(bounds::bound_with_slow_start(problem).time == Time(0));
}

/// A sample of the ranks doesn't see the path through a tree: it told a fifth less here.
TEST_CASE("an estimated plan with few messages takes as long as these are simulated to") {
  const Network net = equal_sites(4, 16);
  network::Placement placement;
  for (Rank rank = 0; rank < 4096; ++rank)
    placement.push_back(rank / 64);
  PlanOptions options = openmpi();
  options.effort = Effort::estimate;
  options.force = "binomial";
  for (const Kind kind : {Kind::bcast, Kind::allreduce}) {
    const Problem wanted = algorithms::make_problem({.kind = kind, .ranks = 4096, .size = 8}, net,
                                                    placement, "openmpi");
    const Plan found = plan(wanted, options);
    simulator::SimulationOptions fast;
    fast.fidelity = simulator::Fidelity::fast;
    CHECK(found.predicted == simulator::simulate(wanted, found.skeleton, fast).time);
  }
}

TEST_CASE("native is estimated from all its messages, as a plan is") {
  PlanOptions options = openmpi();
  options.effort = Effort::estimate;
  options.force = "binomial";
  const Rank ranks = 2047;
  const Network net = network::even_network(ranks, Time(1e-3), Rate(1e9));
  for (const auto& [kind, size] : {std::pair(Kind::bcast, Size{8}), {Kind::allreduce, 8192}}) {
    CAPTURE(collective::to_text(kind));
    const Problem wanted = algorithms::make_problem({.kind = kind, .ranks = ranks, .size = size},
                                                    net, one_each(ranks), "openmpi");
    const Choice choice = select_openmpi(wanted.collective);
    const Skeleton skeleton =
        algorithms::make_skeleton(algorithms::find(choice.algorithm), wanted, choice.parameters);
    simulator::SimulationOptions fast;
    fast.fidelity = simulator::Fidelity::fast;
    CHECK(plan(wanted, options).native.time == simulator::simulate(wanted, skeleton, fast).time);
  }
}
