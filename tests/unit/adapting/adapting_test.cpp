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

/// Agreements of the ranks from a change until plans for it hold: one may have begun before the
/// change, each is about one of the shapes in turn, and one confirms what was suspected.
std::uint64_t most_epochs(const Shapes& shapes) { return 2 + shapes.size(); }

const collective::Collective bcast{.kind = Kind::bcast, .ranks = 16, .root = 0, .size = 65536};
const collective::Collective gather{.kind = Kind::gather, .ranks = 16, .root = 0, .size = 4096};
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
  bool spares_plans = false; ///< the plans in force by then are as good as others for it
  Shapes natives = {};       ///< called natively before the shapes
  [[nodiscard]] Shapes called() const {
    Shapes all = natives;
    all.insert(all.end(), shapes.begin(), shapes.end());
    return all;
  }
};

bool same(const Cause& one, const Cause& other) {
  return one.what == other.what && one.from == other.from && one.to == other.to;
}

/// Whether a run's first attempt that wasn't an improvement found a fault, and how large it is, and
/// led to other plans if there are better ones for it.
void check_cause(const Run& run, const Fault& fault, std::size_t since) {
  const auto found = std::ranges::find(run.attempts, false, &runtime::Attempt::is_improvement);
  REQUIRE(found != run.attempts.end());
  const runtime::Attempt& first = *found;
  CHECK(first.outcome == (fault.spares_plans ? runtime::Replanning::Outcome::nothing_better
                                             : runtime::Replanning::Outcome::adopted));
  CHECK(first.quantity == fault.quantity);
  CHECK_FALSE(first.was_worse);
  REQUIRE_FALSE(first.causes.empty());
  CHECK(std::ranges::any_of(fault.causes,
                            [&](const Cause& cause) { return same(cause, first.causes.front()); }));
  CHECK(first.causes.front().factor > 5);
  CHECK(first.causes.front().factor < 20);
  if (fault.spares_plans) return;
  REQUIRE(first.adopted > since);
  CHECK(run.epochs[first.adopted - 1] - run.epochs[since] <= most_epochs(fault.called()));
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
  Story story = story_of(calm, fault.called(), seed);
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
  // A chain of all hosts, which is the best plan for broadcasts in a row, is also the best one for
  // a port through which each must go.
  const std::vector<Fault> faults = {
      {"allreduce, trunk", {sum}, {ten_times(What::trunk, 4)}},
      {"allreduce, port", {sum}, port(2)},
      {"bcast, trunk", {bcast}, {ten_times(What::trunk, 0)}},
      {"bcast, port", {bcast}, port(1), Quantity::bandwidth, true},
      {"both, trunk", {bcast, sum}, {ten_times(What::trunk, 1)}},
      {"both, port", {bcast, sum}, port(2)},
      {"gather and bcast, trunk",
       {bcast},
       {ten_times(What::trunk, 0)},
       Quantity::bandwidth,
       false,
       {gather}},
      {"gather and bcast, port", {bcast}, port(1), Quantity::bandwidth, false, {gather}},
  };
  for (std::uint64_t turn = 0; const Fault& fault : faults) {
    const Trial trial = try_fault(calm, fault, 1 + turn++ % 2);
    INFO(fault.name << ": staying takes " << trial.staying / trial.knowing
                    << " times the time of plans that knew, following "
                    << trial.follows.seconds() / trial.knowing);
    CHECK(trial.follows.alike);
    CHECK(trial.follows.seconds() / trial.knowing <= 1.15);
    check_cause(trial.follows, fault, trial.third);
  }
}

TEST_CASE("a change is followed although the calls of an earlier one don't come any more") {
  const Network calm = three_sites();
  // Broadcasts don't go to site 0.
  const Network disturbed =
      runtime::changed(calm, std::vector<Cause>{ten_times(What::trunk, 4)}, Quantity::bandwidth);
  const Cause fault = ten_times(What::trunk, 0);
  const Network worse = runtime::changed(calm, std::vector<Cause>{fault}, Quantity::bandwidth);
  const Shapes shapes = {bcast, sum};
  const Plans plans = test::plans_for(calm, shapes, calm);
  Story story = story_of(calm, shapes, 1);
  const std::size_t part = calls_in(phase_s / 3, story, plans);
  story.calls = 6 * part;
  // Allreduces end with a passing disturbance: while it is suspected, or plans for it come.
  for (std::size_t more = 22; more <= 40; more += 6) {
    CAPTURE(more);
    story.last_ends = part + more;
    story.changes = {{0, calm}, {part, disturbed}, {part + more, calm}, {4 * part, worse}};
    const Run follows = test::run(story, Mode::follows, plans);
    CHECK(follows.alike);
    const auto found = std::ranges::find_if(follows.attempts, [&](const runtime::Attempt& each) {
      return !each.is_improvement && each.adopted > 4 * part;
    });
    REQUIRE(found != follows.attempts.end());
    CHECK(found->key.kind == Kind::bcast);
    REQUIRE_FALSE(found->causes.empty());
    CHECK(same(found->causes.front(), fault));
  }
}

TEST_CASE("where a latency grows, following is about as good as having known") {
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
    CHECK(trial.follows.seconds() <= 1.15 * trial.knowing);
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

TEST_CASE("a broadcast that follows a gather gets no plan for broadcasts in a row") {
  const Network calm = three_sites();
  const Plans plans = test::plans_for(calm, {bcast}, calm);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Story story = story_of(calm, {gather, bcast}, seed);
    story.calls = calls_in(phase_s, story, plans);
    const Run follows = test::run(story, Mode::follows, plans);
    CHECK(follows.alike);
    for (const runtime::Attempt& attempt : follows.attempts) {
      CHECK(attempt.is_improvement);
      CHECK_FALSE(attempt.was_worse);
      for (const runtime::PlanChange& change : attempt.changes)
        CHECK(change.after != "pipelined-chain");
    }
    CHECK(follows.seconds() <= 1.005 * test::run(story, Mode::races, plans).seconds());
  }
}

TEST_CASE("a leader without memory for planning leaves the plans, and says so once") {
  const Network calm = three_sites();
  const Network worse =
      runtime::changed(calm, std::vector<Cause>{ten_times(What::trunk, 4)}, Quantity::bandwidth);
  const Plans plans = test::plans_for(calm, {sum}, calm);
  Story story = story_of(calm, {sum}, 1);
  story.calls = 2 * calls_in(phase_s, story, plans);
  story.changes = {{0, calm}, {story.calls / 2, worse}};
  story.planning_s.reset();
  const Run follows = test::run(story, Mode::follows, plans);
  CHECK(follows.alike);
  CHECK(follows.adopted.empty());
  REQUIRE(follows.attempts.size() >= 2);
  CHECK(follows.attempts.front().outcome == runtime::Replanning::Outcome::no_memory);
  CHECK(follows.said.size() == 1);
}

TEST_CASE("a link that comes and goes costs little more than the best plans for it") {
  const Network calm = three_sites();
  const auto try_link = [&](const Shapes& shapes, std::int32_t trunk, double flap_s = 2) {
    CAPTURE(to_text(shapes.front().kind));
    CAPTURE(shapes.size());
    CAPTURE(trunk);
    CAPTURE(flap_s);
    const bool broadcasts = shapes.front().kind == Kind::bcast;
    const Network worse = runtime::changed(calm, std::vector<Cause>{ten_times(What::trunk, trunk)},
                                           Quantity::bandwidth);
    const Plans plans = test::plans_for(calm, shapes, calm);
    Story story = story_of(calm, shapes, 1);
    story.calls = 5 * calls_in(phase_s, story, plans); // so that what is done once counts little
    story.changes = {{0, calm}, {0, worse}};
    story.flap_s = flap_s;
    const Run follows = test::run(story, Mode::follows, plans);
    const double staying = test::run(story, Mode::stays, plans).seconds();
    const double avoiding =
        test::run(story, Mode::stays, test::plans_for(worse, shapes, calm)).seconds();
    CHECK(follows.alike);
    CHECK(follows.seconds() <= 1.05 * staying);
    // Allreduces keep their plans, where others would be better for both of the link's states.
    if (broadcasts) CHECK(follows.seconds() <= 1.05 * std::min(staying, avoiding));
  };
  try_link({sum}, 4);
  try_link({bcast}, 1);
  try_link({bcast}, 0, 2.1); // Calls take as usual again before it is known that that lasts.
  try_link({bcast, sum}, 1);
}
