#include "adapting/programs.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace thalweg;
using namespace thalweg::test;
using network::HostId;
using runtime::Cause;
using runtime::Quantity;
using What = Cause::What;

namespace {

/// Agreements of the ranks from a change until plans for it hold: one may have begun before the
/// change, each is about one of the shapes in turn, and one confirms what was suspected.
std::uint64_t most_epochs(const Shapes& shapes) { return 2 + shapes.size(); }

std::vector<Cause> port(HostId host) {
  return {ten_times(What::egress, host), ten_times(What::ingress, host)};
}

/// The latency between two sites grows tenfold.
Cause far(const Network& net, std::int32_t a, std::int32_t b) {
  const double latency = net.latency(net.sites[index(a)][0], net.sites[index(b)][0]).value();
  return {.what = What::sites, .from = a, .to = b, .excess_ns = 9e9 * latency};
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
  const auto found = std::ranges::find_if(run.attempts, [](const runtime::Attempt& each) {
    return each.purpose != runtime::Purpose::improvement;
  });
  REQUIRE(found != run.attempts.end());
  const runtime::Attempt& first = *found;
  CHECK(first.outcome == (fault.spares_plans ? runtime::AttemptState::Outcome::nothing_better
                                             : runtime::AttemptState::Outcome::adopted));
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
  const Plans old = plans_for(calm, fault.shapes, calm);
  const Plans best = plans_for(worse, fault.shapes, calm);
  const std::size_t third = calls_in(phase_s, story, old);
  story.calls = 3 * third;
  story.changes = {{0, calm}, {third, worse}, {2 * third, calm}};
  const Run stays = run(story, Mode::stays, old);
  const Run follows = run(story, Mode::follows, old);
  story.calls = 2 * third;
  const Run knows = run(story, Mode::stays, best);
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
  const Plans plans = plans_for(calm, shapes, calm);
  Story story = story_of(calm, shapes, 1);
  const std::size_t part = calls_in(phase_s / 3, story, plans);
  story.calls = 6 * part;
  // Allreduces end with a passing disturbance: while it is suspected, or plans for it come.
  for (std::size_t more = 22; more <= 40; more += 6) {
    CAPTURE(more);
    story.last_ends = part + more;
    story.changes = {{0, calm}, {part, disturbed}, {part + more, calm}, {4 * part, worse}};
    const Run follows = run(story, Mode::follows, plans);
    CHECK(follows.alike);
    const auto found = std::ranges::find_if(follows.attempts, [&](const runtime::Attempt& each) {
      return each.purpose != runtime::Purpose::improvement && each.adopted > 4 * part;
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
