#include "adapting/world.hpp"
#include "runtime/adapt/causes.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>
#include <string>

using namespace thalweg;
using collective::Kind;
using network::HostId;
using network::Network;
using runtime::Cause;
using runtime::Quantity;
using test::Mode;
using test::Plans;
using test::Run;
using test::Shapes;
using test::Story;
using What = Cause::What;

namespace {

constexpr double dilation = 4;
/// What a third of the calls take on the calm network.
constexpr double phase_s = 60;

/// The lab's three-sites: 3, 5 and 8 hosts at 100 Mbit/s; every link between two sites has its own
/// latency and trunk.
Network three_sites() {
  const std::vector<HostId> sizes = {3, 5, 8};
  const double latency_ms[3][3] = {{0, 4, 12}, {5, 0, 20}, {12, 17, 0}};
  const double trunk_mbps[3][3] = {{0, 200, 250}, {150, 0, 300}, {120, 400, 0}};
  const auto rate = [](double mbps) { return units::Rate(mbps * 1e6 / 8 / dilation); };
  Network net = network::even_network(16, units::Time(1e-4 * dilation), rate(100));
  net.sites.clear();
  HostId host = 0;
  for (const HostId size : sizes) {
    net.sites.emplace_back(index(size));
    std::iota(net.sites.back().begin(), net.sites.back().end(), host);
    host += size;
  }
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b) {
      if (a == b) continue;
      for (const HostId from : net.sites[a])
        for (const HostId to : net.sites[b])
          net.latency.set(from, to, units::Time(latency_ms[a][b] * 1e-3 * dilation));
      net.trunks.push_back({.name = std::to_string(a) + "-" + std::to_string(b),
                            .from = net.sites[a],
                            .to = net.sites[b],
                            .capacity = rate(trunk_mbps[a][b])});
    }
  return net;
}

/// Agreements of the ranks from a change until plans for it hold.
constexpr std::uint64_t most_epochs = 9;

const collective::Collective bcast{.kind = Kind::bcast, .ranks = 16, .root = 0, .size = 65536};
const collective::Collective sum{.kind = Kind::allreduce, .ranks = 16, .root = 0, .size = 65536};

Cause ten_times(What what, std::int32_t from) { return {.what = what, .from = from, .factor = 10}; }

std::vector<Cause> port(HostId host) {
  return {ten_times(What::egress, host), ten_times(What::ingress, host)};
}

/// The latency between two sites grows tenfold.
Cause far(const Network& net, std::int32_t a, std::int32_t b) {
  const double latency = net.latency(net.sites[index(a)][0], net.sites[index(b)][0]).value();
  return {.what = What::sites, .from = a, .to = b, .excess_ns = 9e9 * latency};
}

Story story_of(const Network& net, const Shapes& shapes, std::uint64_t seed) {
  Story story;
  story.planned = net;
  story.shapes = shapes;
  story.clock_error_s = 0.04;
  story.skew_s = 2e-3;
  story.seed = seed;
  story.changes = {{0, net}};
  return story;
}

/// Returns how many calls take about so long on the calm network.
std::size_t calls_in(double seconds, Story story, const Plans& plans) {
  story.calls = 60;
  return static_cast<std::size_t>(60 * seconds / test::run(story, Mode::stays, plans).seconds());
}

/// A part of the network becomes ten times worse.
struct Fault {
  std::string name;
  Shapes shapes;
  std::vector<Cause> causes;
  Quantity quantity = Quantity::bandwidth;
};

bool same(const Cause& one, const Cause& other) {
  return one.what == other.what && one.from == other.from && one.to == other.to;
}

/// Whether a run's first attempt that wasn't an improvement found a fault, and how large it is.
void check_cause(const Run& run, const Fault& fault, std::size_t since) {
  const auto found = std::ranges::find(run.attempts, false, &runtime::Attempt::is_improvement);
  REQUIRE(found != run.attempts.end());
  const runtime::Attempt& first = *found;
  CHECK(first.outcome == runtime::Replanning::Outcome::adopted);
  CHECK(first.quantity == fault.quantity);
  CHECK_FALSE(first.was_worse);
  REQUIRE_FALSE(first.causes.empty());
  CHECK(std::ranges::any_of(fault.causes,
                            [&](const Cause& cause) { return same(cause, first.causes.front()); }));
  CHECK(first.causes.front().factor > 5);
  CHECK(first.causes.front().factor < 20);
  REQUIRE(first.adopted > since);
  CHECK(run.epochs[first.adopted - 1] - run.epochs[since] <= most_epochs);
}

/// How long a program takes during which a fault comes and goes.
struct Trial {
  Run follows;
  double staying = 0,
         knowing = 0;    ///< seconds, with the plans before, and with the best for each time
  std::size_t third = 0; ///< calls
};

Trial try_fault(const Network& calm, const Fault& fault, std::uint64_t seed) {
  const Network worse = runtime::changed(calm, fault.causes, fault.quantity);
  Story story = story_of(calm, fault.shapes, seed);
  const Plans old = test::plans_for(calm, fault.shapes, calm);
  const Plans best = test::plans_for(worse, fault.shapes, calm);
  const std::size_t third = calls_in(phase_s, story, old);
  story.calls = 3 * third;
  story.changes = {{0, calm}, {third, worse}, {2 * third, calm}};
  const Run stays = test::run(story, Mode::stays, old);
  const Run follows = test::run(story, Mode::follows, old);
  story.calls = 2 * third;
  const Run knows = test::run(story, Mode::stays, best);
  const double knowing =
      stays.seconds(0, third) +
      std::min(stays.seconds(third, 2 * third), knows.seconds(third, 2 * third)) +
      stays.seconds(2 * third, 3 * third);
  return {follows, stays.seconds(), knowing, third};
}

} // namespace

TEST_CASE("plans follow a network that becomes worse and recovers") {
  const Network calm = three_sites();
  const std::vector<Fault> faults = {
      {"allreduce, trunk", {sum}, {ten_times(What::trunk, 4)}},
      {"allreduce, port", {sum}, port(2)},
      {"bcast, trunk", {bcast}, {ten_times(What::trunk, 0)}},
      {"bcast, port", {bcast}, port(1)},
      {"both, trunk", {bcast, sum}, {ten_times(What::trunk, 1)}},
      {"both, port", {bcast, sum}, port(2)},
  };
  for (std::uint64_t turn = 0; const Fault& fault : faults) {
    const Trial trial = try_fault(calm, fault, 1 + turn++ % 2);
    INFO(fault.name << ": staying takes " << trial.staying / trial.knowing
                    << " times the time of plans that knew");
    CHECK(trial.follows.alike);
    CHECK(trial.follows.seconds() / trial.knowing <= 1.15);
    check_cause(trial.follows, fault, trial.third);
  }
}

TEST_CASE("where a latency grows, following is no worse than staying") {
  const Network calm = three_sites();
  const std::vector<Fault> faults = {
      {"allreduce", {sum}, {far(calm, 2, 0)}, Quantity::latency},
      {"bcast", {bcast}, {far(calm, 0, 2)}, Quantity::latency},
      {"both", {bcast, sum}, {far(calm, 0, 2)}, Quantity::latency},
  };
  for (const Fault& fault : faults) {
    const Trial trial = try_fault(calm, fault, 1);
    INFO(fault.name << ": staying takes " << trial.staying / trial.knowing
                    << " times the time of plans that knew, following "
                    << trial.follows.seconds() / trial.knowing);
    CHECK(trial.follows.alike);
    CHECK(trial.follows.seconds() <= 1.02 * trial.staying);
  }
}

TEST_CASE("on a calm network nothing is noticed, and nothing is lost") {
  const Network calm = three_sites();
  for (const Shapes& shapes : {Shapes{bcast, sum}, Shapes{bcast}, Shapes{sum}}) {
    CAPTURE(shapes.size());
    const std::uint64_t runs = shapes.size() == 2 ? 100 : 20;
    const Plans plans = test::plans_for(calm, shapes, calm);
    std::size_t alarms = 0;
    double racing = 0, following = 0;
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
      Story story = story_of(calm, shapes, seed);
      story.calls = seed > 10 ? 200 : 600; // so that what is done once counts little
      story.noise = 0.2;
      const Run follows = test::run(story, Mode::follows, plans);
      CHECK(follows.alike);
      alarms += static_cast<std::size_t>(
          std::ranges::count(follows.attempts, false, &runtime::Attempt::is_improvement));
      if (seed > 10) continue;
      following += follows.seconds();
      racing += test::run(story, Mode::races, plans).seconds();
    }
    CHECK(alarms == 0);
    CHECK(following < 1.005 * racing);
  }
}

TEST_CASE("broadcasts in a row get a plan with which one begins before the last has ended") {
  const Network calm = three_sites();
  const Plans plans = test::plans_for(calm, {bcast}, calm);
  Story story = story_of(calm, {bcast}, 1);
  story.calls = calls_in(phase_s, story, plans);
  const Run follows = test::run(story, Mode::follows, plans);
  CHECK(follows.alike);
  REQUIRE_FALSE(follows.attempts.empty());
  const runtime::Attempt& first = follows.attempts.front();
  CHECK(first.is_improvement);
  CHECK(first.outcome == runtime::Replanning::Outcome::adopted);
  CHECK_FALSE(first.was_worse);
  CHECK(follows.seconds() < 0.9 * test::run(story, Mode::stays, plans).seconds());
}

TEST_CASE("a link that comes and goes costs little more than staying with the plans") {
  const Network calm = three_sites();
  for (const Shapes& shapes : {Shapes{sum}, Shapes{bcast}, Shapes{bcast, sum}}) {
    CAPTURE(to_text(shapes.front().kind));
    CAPTURE(shapes.size());
    const std::int32_t trunk = shapes.front().kind == Kind::bcast ? 1 : 4;
    const Network worse = runtime::changed(calm, std::vector<Cause>{ten_times(What::trunk, trunk)},
                                           Quantity::bandwidth);
    const Plans plans = test::plans_for(calm, shapes, calm);
    Story story = story_of(calm, shapes, 1);
    story.calls = 2 * calls_in(phase_s, story, plans);
    story.changes = {{0, calm}, {0, worse}};
    story.flap_s = 2;
    const Run follows = test::run(story, Mode::follows, plans);
    CHECK(follows.alike);
    CHECK(follows.seconds() <= 1.05 * test::run(story, Mode::stays, plans).seconds());
  }
}

#include <cstdio>
TEST_CASE("measure") {
  const Network calm = three_sites();
  const std::vector<Fault> faults = {
      {"allreduce, trunk", {sum}, {ten_times(What::trunk, 4)}},
      {"allreduce, port", {sum}, port(2)},
      {"bcast, trunk", {bcast}, {ten_times(What::trunk, 0)}},
      {"bcast, port", {bcast}, port(1)},
      {"both, trunk", {bcast, sum}, {ten_times(What::trunk, 1)}},
      {"both, port", {bcast, sum}, port(2)},
      {"allreduce, latency", {sum}, {far(calm, 2, 0)}, Quantity::latency},
      {"bcast, latency", {bcast}, {far(calm, 0, 2)}, Quantity::latency},
      {"both, latency", {bcast, sum}, {far(calm, 0, 2)}, Quantity::latency},
  };
  for (std::uint64_t turn = 0; const Fault& fault : faults) {
    const Trial trial = try_fault(calm, fault, turn < 6 ? 1 + turn % 2 : 1);
    ++turn;
    const Run& run = trial.follows;
    std::printf("%-20s stays %.3f follows %.3f third %zu calls, call %.3f s\n", fault.name.c_str(),
                trial.staying / trial.knowing, run.seconds() / trial.knowing, trial.third,
                run.ends_s[trial.third - 1] / static_cast<double>(trial.third));
    const auto e0 = run.epochs[trial.third];
    const double t0 = run.ends_s[trial.third - 1];
    for (const auto& a : run.attempts)
      std::printf("   epoch %+ld, adopted %+ld calls, epoch %+ld, %.2f s, outcome %d improv %d recov %d worse %d cause %s x%.1f usual %.3f cost %.3f after %.3f\n",
                  (long)a.epoch - (long)e0, (long)a.adopted - (long)trial.third,
                  a.adopted ? (long)run.epochs[a.adopted - 1] - (long)e0 : 0L,
                  a.adopted ? run.ends_s[a.adopted - 1] - t0 : 0.0, (int)a.outcome, a.is_improvement, a.is_recovery, a.was_worse,
                  a.causes.empty() ? "-" : runtime::to_text(calm, a.causes.front()).c_str(),
                  a.causes.empty() ? 0 : a.causes.front().factor, 1e-9 * (double)a.usual_ns, 1e-9 * (double)a.cost_ns, 1e-9 * (double)a.after_ns);
    std::fflush(stdout);
  }
  for (const Shapes& shapes : {Shapes{sum}, Shapes{bcast}, Shapes{bcast, sum}}) {
    const std::int32_t trunk = shapes.front().kind == Kind::bcast ? 1 : 4;
    const Network worse = runtime::changed(calm, std::vector<Cause>{ten_times(What::trunk, trunk)},
                                           Quantity::bandwidth);
    const Plans plans = test::plans_for(calm, shapes, calm);
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Story story = story_of(calm, shapes, seed);
    story.calls = 2 * calls_in(phase_s, story, plans);
    story.changes = {{0, calm}, {0, worse}};
    story.flap_s = 2;
    const Run follows = test::run(story, Mode::follows, plans);
    const Plans other = test::plans_for(worse, shapes, calm);
    const double stay = test::run(story, Mode::stays, plans).seconds(), oth = test::run(story, Mode::stays, other).seconds(),
       races = test::run(story, Mode::races, plans).seconds();
    std::printf("flap %zu %s seed %d: follows %.1f stays %.1f other %.1f races %.1f -> %.3f of best\n", shapes.size(), std::string(to_text(shapes.front().kind)).c_str(), (int)seed,
      follows.seconds(), stay, oth, races, follows.seconds() / std::min(stay, oth));
    for (const auto& a : follows.attempts)
      std::printf("   epoch %ld, adopted %ld, %.2f s, outcome %d improv %d recov %d worse %d cause %s x%.1f usual %.3f cost %.3f after %.3f\n",
                  (long)a.epoch, (long)a.adopted, a.adopted ? follows.ends_s[a.adopted - 1]:0.0, (int)a.outcome, a.is_improvement, a.is_recovery, a.was_worse,
                  a.causes.empty() ? "-" : runtime::to_text(calm, a.causes.front()).c_str(),
                  a.causes.empty() ? 0 : a.causes.front().factor, 1e-9 * (double)a.usual_ns, 1e-9 * (double)a.cost_ns, 1e-9 * (double)a.after_ns);
    std::fflush(stdout);
    }
  }
}
