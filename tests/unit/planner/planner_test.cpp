#include "../algorithms/networks.hpp"
#include "networks.hpp"
#include "planner/window.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <iterator>
#include <set>
#include <stdexcept>

using namespace thalweg;
using namespace thalweg::planner;
using namespace thalweg::planner::testing;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> names(const std::vector<PassTime>& passes) {
  std::vector<std::string> result;
  for (const PassTime& pass : passes)
    result.push_back(pass.pass);
  return result;
}

/// The network, on which native takes `time` for a bcast of 1 MB.
Network with_native_bcast(Network net, Time time) {
  net.native_times = {{"openmpi", "bcast", 1000000, time}};
  return net;
}

} // namespace

TEST_CASE("the passes run in order, and can be switched off") {
  const Network net = two_sites(2);
  PlanOptions options = openmpi();
  const Problem bcast = problem(net, Kind::bcast, 100000);
  CHECK(names(explain(bcast, options).passes) ==
        std::vector<std::string>{"candidates", "bound", "estimate", "fast", "fluid", "confirm",
                                 "native", "choose", "verify"});
  options.disabled = {"fluid", "verify", "bound"};
  const Explanation explanation = explain(bcast, options);
  CHECK(names(explanation.passes) ==
        std::vector<std::string>{"candidates", "estimate", "fast", "native", "choose"});
  for (const Candidate& candidate : explanation.candidates)
    CHECK(!candidate.fluid);
  CHECK(explanation.plan.bound.time == Time(0));
  options.disabled = {"estimate", "fast"};
  for (const Candidate& candidate : explain(bcast, options).candidates)
    CHECK(candidate.fluid.has_value());
  options.disabled = {"choose"};
  CHECK_THROWS_AS(plan(bcast, options), std::invalid_argument);
}

TEST_CASE("the shortest predicted time is chosen and explained") {
  const Network net = two_sites(4);
  const Problem bcast = problem(net, Kind::bcast, 8000000);
  const Explanation explanation = explain(bcast, openmpi());
  const Plan& chosen = explanation.plan;
  CHECK(chosen.algorithm == "packed-trees");
  CHECK(chosen.skeleton ==
        algorithms::make_skeleton(algorithms::find(chosen.algorithm), bcast, chosen.parameters));
  CHECK(chosen.predicted >= chosen.bound.time);
  CHECK(chosen.bound.time.value() >= 8e6 / 12.5e6);
  CHECK(contains(chosen.reason, "packed-trees:segment_size="));
  CHECK(contains(chosen.reason, "x of the bound " + units::to_text(chosen.bound.time)));
  CHECK(!explanation.critical_path.empty());

  REQUIRE(!explanation.candidates.empty());
  CHECK(explanation.candidates.front().algorithm == chosen.algorithm);
  CHECK(explanation.candidates.front().fluid == chosen.predicted);
  CHECK(std::ranges::count(explanation.candidates, "native", &Candidate::algorithm) == 1);
}

TEST_CASE("finalists are the best few, and the best of each algorithm that isn't far behind") {
  const Network net = two_sites(4);
  PlanOptions options = openmpi();
  options.finalists = 2;
  options.disabled = {"bound"}; // Otherwise the first that is near it ends the comparison.
  const Explanation explanation = explain(problem(net, Kind::allreduce, 1000000), options);
  std::vector<Candidate> by_fast;
  std::ranges::copy_if(explanation.candidates, std::back_inserter(by_fast),
                       [](const Candidate& candidate) { return candidate.fast.has_value(); });
  std::ranges::stable_sort(by_fast, {}, [](const Candidate& candidate) { return *candidate.fast; });
  REQUIRE(by_fast.size() > 2);
  CHECK(by_fast[0].fluid.has_value());
  CHECK(by_fast[1].fluid.has_value());
  std::set<std::string> seen;
  for (std::size_t i = 0; i < by_fast.size(); ++i) {
    const bool first = seen.insert(by_fast[i].algorithm).second;
    if (i >= 2 && !first) CHECK(!by_fast[i].fluid.has_value());
    if (first && *by_fast[i].fast <= *by_fast[0].fast * 1.5) CHECK(by_fast[i].fluid.has_value());
  }
}

TEST_CASE("no candidate that the passes leave out is more than 3 % better, by fluid") {
  for (std::uint32_t seed = 0; seed < test::share_of(12U, 6); ++seed) {
    const Network net = algorithms::testing::random_network(5 + static_cast<HostId>(seed), seed);
    const Kind kind = std::array{Kind::bcast, Kind::reduce, Kind::allreduce}[seed % 3];
    const Size size = std::array<Size, 4>{1000, 65536, 400000, 2000000}[seed % 4];
    const Problem drawn = problem(net, kind, size);
    const Explanation explanation = explain(drawn, openmpi());
    for (const Candidate& candidate : explanation.candidates) {
      if (candidate.algorithm == native_name || candidate.fluid) continue;
      const auto skeleton = algorithms::make_skeleton(algorithms::find(candidate.algorithm), drawn,
                                                      candidate.parameters);
      simulator::SimulationOptions simulation;
      simulation.max_messages = 16000;
      CAPTURE(seed);
      CAPTURE(candidate.algorithm);
      CAPTURE(candidate.parameters.segment_size);
      CHECK(simulator::simulate(drawn, skeleton, simulation).time.value() >=
            explanation.plan.predicted.value() / 1.03);
    }
  }
}

TEST_CASE("an estimate simulates no pipelines, and is near what they take") {
  for (std::uint32_t seed = 0; seed < test::share_of(20U, 5); ++seed) {
    const Network net = with_slow_native(
        algorithms::testing::random_network(4 + static_cast<HostId>(seed % 9), seed));
    const Kind kind = std::array{Kind::bcast, Kind::reduce, Kind::allreduce}[seed % 3];
    const Problem drawn = problem(net, kind, seed % 2 == 0 ? 2000 : 700000);
    PlanOptions options = openmpi();
    options.effort = Effort::estimate;
    const Explanation estimated = explain(drawn, options);
    for (const Candidate& candidate : estimated.candidates) {
      CHECK(!candidate.fast);
      CHECK(candidate.estimate.has_value());
    }
    const Plan normal = plan(drawn, openmpi());
    simulator::SimulationOptions simulation;
    CAPTURE(seed);
    CHECK(simulator::simulate(drawn, estimated.plan.skeleton, simulation).time.value() <=
          2.6 * normal.predicted.value());
  }
}

TEST_CASE("efforts have names") {
  for (const Effort effort : {Effort::estimate, Effort::normal, Effort::patient})
    CHECK(parse_effort(to_text(effort)) == effort);
  CHECK_THROWS_AS(parse_effort("lazy"), std::invalid_argument);
}

TEST_CASE("single plans: a larger message isn't predicted to arrive before a smaller one") {
  for (std::uint32_t seed = 0; seed < test::share_of(4U, 4); ++seed) {
    const Network net = with_slow_native(algorithms::testing::random_network(6, seed));
    const Kind kind = std::array{Kind::bcast, Kind::reduce, Kind::allreduce}[seed % 3];
    Time before{};
    for (Size size = 1; size < 3000000; size += 1 + size / 2) {
      const Time time = plan(problem(net, kind, size), openmpi()).predicted;
      CAPTURE(seed);
      CAPTURE(size);
      CHECK(time >= before * 0.98);
      before = time;
    }
  }
}

TEST_CASE("native is chosen unless a plan is predicted 5 % faster beyond the uncertainty") {
  const Network net = two_sites(4);
  const Plan chosen = plan(problem(net, Kind::bcast, 1000000), openmpi());
  const Time ours = chosen.predicted / chosen.times_best;
  const Native measured =
      plan(problem(with_native_bcast(net, ours), Kind::bcast, 1000000), openmpi()).native;
  const double uncertainty = measured.uncertainty;
  CHECK(uncertainty > 0);
  const Network slower = with_native_bcast(net, ours / (0.94 * (1 - uncertainty)));
  CHECK(plan(problem(slower, Kind::bcast, 1000000), openmpi()).algorithm != "native");

  const Time native_time = ours / (0.96 * (1 - uncertainty));
  const Network faster = with_native_bcast(net, native_time);
  const Explanation native = explain(problem(faster, Kind::bcast, 1000000), openmpi());
  CHECK(native.plan.algorithm == "native");
  CHECK(native.plan.predicted.value() == doctest::Approx(native_time.value()));
  CHECK(contains(native.plan.reason, "measured " + units::to_text(native.plan.predicted)));
  CHECK(native.critical_path.empty());
  // By time: slower than our best, and its row says so.
  CHECK(native.candidates.front().algorithm != "native");
  const auto row = std::find_if(native.candidates.begin(), native.candidates.end(),
                                [](const Candidate& c) { return c.algorithm == "native"; });
  REQUIRE(row != native.candidates.end());
  CHECK(row->fluid == native.plan.predicted);
}

TEST_CASE("an algorithm can be forced") {
  const Network net = with_native(two_sites(2), Time(1e-6));
  const Problem bcast = problem(net, Kind::bcast, 100000);
  PlanOptions options = openmpi();
  options.force = "binomial";
  CHECK(plan(bcast, options).algorithm == "binomial");
  options.force = "native";
  CHECK(plan(bcast, options).algorithm == "native");
  options.force = "no-such";
  CHECK_THROWS_AS(plan(bcast, options), std::invalid_argument);
  options.force = "ring";
  CHECK_THROWS_AS(plan(bcast, options), std::invalid_argument);
}

TEST_CASE("blocks whose sizes only their ends know go straight and whole") {
  const Network net = with_slow_native(two_sites(3));
  for (const Kind kind : {Kind::gather, Kind::scatter, Kind::alltoall}) {
    Problem uneven = problem(net, kind, 0, kind == Kind::alltoall ? 0 : 2);
    for (collective::ChunkId block = 0; block < uneven.collective.blocks(); ++block)
      uneven.collective.block_sizes.push_back(block % 3 * 1000);
    const Explanation found = explain(uneven, openmpi());
    CHECK(found.plan.algorithm != native_name);
    CHECK(found.plan.reason.ends_with("since only their two ends know their sizes"));
    for (const Candidate& candidate : found.candidates) {
      if (candidate.algorithm == native_name) continue;
      const Skeleton skeleton = algorithms::make_skeleton(algorithms::find(candidate.algorithm),
                                                          uneven, candidate.parameters);
      CHECK(skeleton.segment_size == 0);
      CHECK(algorithms::sends_directly(uneven.collective, skeleton));
    }
    PlanOptions relayed = openmpi();
    relayed.force = kind == Kind::alltoall ? "bruck" : "binomial";
    const Plan refused = plan(uneven, relayed);
    CHECK(refused.algorithm == native_name);
    CHECK(refused.reason.find("only these two know its size") != std::string::npos);
  }
}

TEST_CASE("the window that a plan asks for is told") {
  const Network net = two_sites(2);
  PlanOptions options = openmpi();
  options.force = "far-first";
  const Explanation explanation = explain(problem(net, Kind::bcast, 100000), options);
  CHECK(explanation.plan.skeleton.window == 1);
  const auto row = std::ranges::find(explanation.candidates, "far-first", &Candidate::algorithm);
  REQUIRE(row != explanation.candidates.end());
  CHECK(row->window == 1);
  CHECK(contains(explanation.plan.reason, "far-first, window 1"));
}

TEST_CASE("windows are wide where the bandwidth-delay product is large") {
  Network net = network::even_network(24, Time(0.020), Rate(1e8));
  const Problem alltoall = problem(net, Kind::alltoall, 1000);
  const Plan wide = plan(alltoall, openmpi());
  CHECK(wide.skeleton.window > schedule::usual_window);
  CHECK(wide.parameters.window == wide.skeleton.window);
  CHECK(contains(wide.reason, "window=" + std::to_string(wide.skeleton.window)));
  PlanOptions options = openmpi();
  options.window = schedule::usual_window; // said by the user
  const Plan usual = plan(alltoall, options);
  CHECK(usual.skeleton.window <= schedule::usual_window);
  CHECK(wide.predicted.value() < 0.6 * usual.predicted.value());

  // Few messages fill the path, or there are no more.
  Problem free = alltoall;
  free.cost = network::no_cost;
  const LongPath path(free);
  const auto window = [&](const LongPath& on, const char* name, Kind kind, Size size,
                          Size segment_size = 0) {
    const Problem asked = problem(net, kind, size);
    return on.window(asked, algorithms::find(name).build(asked, {.segment_size = segment_size}));
  };
  CHECK(window(path, "linear", Kind::alltoall, 1000) == 32);
  CHECK(window(path, "linear", Kind::alltoall, 10'000'000) == 0);
  CHECK(window(path, "pairwise", Kind::alltoall, 1000) == 0);
  CHECK(window(path, "pipelined-chain", Kind::bcast, 10'000'000, 60'000) == 128);
  CHECK(window(path, "pipelined-chain", Kind::bcast, 60'000) == 0);
  net = network::even_network(24, Time(1e-4), Rate(1e8));
  // On a short path only what isn't cut into segments.
  CHECK(window(LongPath(free), "linear", Kind::alltoall, 1000) == 32);
  CHECK(window(LongPath(free), "pipelined-chain", Kind::bcast, 100'000, 1'000) == 0);
  // A host that is slow with everybody holds up windows of the others.
  for (HostId host = 1; host < net.size(); ++host) {
    net.bandwidth.set(0, host, Rate(25e6));
    net.bandwidth.set(host, 0, Rate(25e6));
  }
  CHECK(window(LongPath(free), "linear", Kind::alltoall, 100'000) == 32);
}

TEST_CASE("nothing is planned for ranks of one host") {
  const Network net = two_sites(2);
  Problem bcast = algorithms::make_problem({.kind = Kind::bcast, .ranks = 3, .size = 1000}, net,
                                           {1, 1, 1}, "openmpi");
  CHECK(plan(bcast).algorithm == "native");
  CHECK(contains(plan(bcast).reason, "all ranks are on host " + net.hosts[1].name));
  bcast.collective.ranks = 1;
  bcast.placement = {0};
  CHECK(plan(bcast).algorithm == "native");
  bcast.placement = {4};
  CHECK_THROWS_AS(plan(bcast), std::invalid_argument);
}

TEST_CASE("the same input gives the same plan") {
  const Network net = two_sites(3);
  for (const Kind kind : {Kind::bcast, Kind::allreduce}) {
    const Explanation first = explain(problem(net, kind, 300000), openmpi());
    const Explanation second = explain(problem(net, kind, 300000), openmpi());
    CHECK(first.plan.skeleton == second.plan.skeleton);
    CHECK(first.plan.predicted == second.plan.predicted);
    REQUIRE(first.candidates.size() == second.candidates.size());
    for (std::size_t i = 0; i < first.candidates.size(); ++i) {
      CHECK(first.candidates[i].algorithm == second.candidates[i].algorithm);
      CHECK(first.candidates[i].time() == second.candidates[i].time());
    }
  }
}

TEST_CASE("several ranks per host are planned for") {
  const Network net = two_sites(2);
  for (const Kind kind : {Kind::bcast, Kind::allreduce}) {
    const Problem both = algorithms::make_problem(
        {.kind = kind, .ranks = 6, .root = 0, .size = 1000000}, net, {0, 0, 1, 2, 2, 3}, "openmpi");
    const Plan chosen = plan(both, openmpi());
    CHECK(chosen.algorithm != "native");
    CHECK(chosen.predicted >= chosen.bound.time);
  }
}

TEST_CASE("another library in the network file changes no plan") {
  Network alone = two_sites(6);
  Network both = alone;
  both.message_costs["mpich"] = {.send = Time(3e-3), .receive = Time(4e-3), .eager_limit = 4096};
  test::Sample sample(16);
  for (const Kind kind :
       {Kind::bcast, Kind::reduce, Kind::allreduce, Kind::gather, Kind::scatter, Kind::allgather,
        Kind::alltoall, Kind::reduce_scatter, Kind::scan, Kind::exscan, Kind::barrier})
    for (const Size size : {1, 3000, 200'000, 8'000'000}) {
      if (kind == Kind::barrier && size > 1) continue;
      if (!sample.takes_next()) continue;
      CAPTURE(collective::to_text(kind));
      CAPTURE(size);
      const Plan before = plan(problem(alone, kind, size), openmpi());
      const Plan after = plan(problem(both, kind, size), openmpi());
      CHECK(before.skeleton == after.skeleton);
      CHECK(before.reason == after.reason);
    }
}

TEST_CASE("segments go by the eager limit of the library") {
  Network net = two_sites(6);
  const auto largest_eager = [&](Size eager_limit, const char* name, Kind kind) {
    net.message_costs["openmpi"].eager_limit = eager_limit;
    Size largest = 0;
    for (const Parameters& each : algorithms::find(name).candidates(problem(net, kind, 1 << 20)))
      if (each.segment_size <= eager_limit) largest = std::max(largest, each.segment_size);
    return largest;
  };
  for (const Size limit : {12'288, 32'768, 65'536})
    for (const auto& [name, kind] : {std::pair("pipelined-chain", Kind::bcast),
                                     {"paced-linear", Kind::scatter},
                                     {"slowest-first", Kind::alltoall}}) {
      CAPTURE(limit);
      CAPTURE(name);
      // Below the limit, since a message has an envelope, and not far below.
      CHECK(largest_eager(limit, name, kind) < limit);
      CHECK(largest_eager(limit, name, kind) > 7 * limit / 8);
    }
}

TEST_CASE("a problem of another library than the plan's is refused") {
  Network net = two_sites(2);
  Problem other = problem(net, Kind::bcast, 1000);
  other.cost.send = Time(1);
  CHECK_THROWS_WITH_AS(plan(other, openmpi()),
                       "the problem doesn't have the message costs of openmpi: make it for that "
                       "library",
                       std::invalid_argument);
}

TEST_CASE("the text of a row reproduces it, or says that only a plan file does") {
  const Network net = two_sites(5);
  test::Sample sample(4);
  for (const Kind kind : collective::kinds) {
    if (!sample.takes_next()) continue;
    const Problem asked = problem(net, kind, kind == Kind::barrier ? 0 : 300'000);
    PlanOptions options = openmpi();
    options.effort = Effort::patient;
    options.budget = 0.2;
    const Explanation explanation = explain(asked, options);
    std::set<std::string> texts;
    for (const Candidate& candidate : explanation.candidates) {
      const std::string text = candidate.force();
      CAPTURE(text);
      CHECK(text.empty() == candidate.searched);
      if (text.empty() || text == native_name) continue;
      CHECK(texts.insert(text).second); // no two rows alike
      const auto colon = text.find(':');
      const std::string name = text.substr(0, colon);
      const Parameters forced = algorithms::parse_parameters(
          colon == std::string::npos ? "" : std::string_view(text).substr(colon + 1));
      CHECK(forced == candidate.parameters);
      const Skeleton skeleton = algorithms::make_skeleton(algorithms::find(name), asked, forced);
      CHECK(skeleton.window == candidate.window);
      const Plan& chosen = explanation.plan;
      if (name == chosen.algorithm && forced == chosen.parameters &&
          !contains(chosen.reason, "improved by search"))
        CHECK(skeleton == explanation.plan.skeleton);
    }
  }
}
