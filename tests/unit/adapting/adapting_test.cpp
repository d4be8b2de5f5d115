#include "adapting/world.hpp"
#include "runtime/adapt/causes.hpp"
#include "unit/share.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>

using namespace thalweg;
using collective::Kind;
using network::HostId;
using network::Network;
using runtime::Cause;
using runtime::Quantity;
using test::Mode;
using test::Run;
using test::Story;
using What = Cause::What;

namespace {

constexpr double dilation = 4, phase_s = 24;

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

struct Fault {
  Kind kind;
  std::vector<Cause> causes; ///< all ten times worse
  Quantity quantity;
  double most; ///< times the time of plans that knew of it
};

Cause ten_times(What what, std::int32_t from) {
  return {.what = what, .from = from, .factor = 10};
}

/// The latency between two sites grows tenfold.
Cause far(const Network& net, std::int32_t a, std::int32_t b) {
  const double latency = net.latency(net.sites[index(a)][0], net.sites[index(b)][0]).value();
  return {.what = What::sites, .from = a, .to = b, .excess_ns = 9e9 * latency};
}

Story story_of(const Network& net, Kind kind, std::uint64_t seed) {
  Story story;
  story.planned = net;
  story.call = {.kind = kind, .ranks = net.size(), .root = 0, .size = 65536};
  story.clock_error_s = 0.04;
  story.skew_s = 2e-3;
  story.seed = seed;
  return story;
}

bool same(const Cause& one, const Cause& other) {
  return one.what == other.what && one.from == other.from && one.to == other.to;
}

} // namespace

TEST_CASE("plans follow a network that becomes worse and recovers") {
  const Network calm = three_sites();
  const std::vector<Fault> faults = {
      {Kind::allreduce, {ten_times(What::trunk, 4)}, Quantity::bandwidth, 1.15},
      {Kind::allreduce,
       {ten_times(What::egress, 2), ten_times(What::ingress, 2)},
       Quantity::bandwidth,
       1.3},
      {Kind::allreduce, {far(calm, 1, 2)}, Quantity::latency, 1.35},
      {Kind::bcast, {ten_times(What::trunk, 1)}, Quantity::bandwidth, 1.6},
      {Kind::bcast, {ten_times(What::egress, 1)}, Quantity::bandwidth, 1.45},
  };
  for (const Fault& fault : faults)
    for (std::uint64_t seed = 1; seed <= test::share_of<std::uint64_t>(2, 1); ++seed) {
      CAPTURE(to_text(fault.kind));
      CAPTURE(to_text(calm, fault.causes.front()));
      CAPTURE(seed);
      const Network worse = runtime::changed(calm, fault.causes, fault.quantity);
      Story story = story_of(calm, fault.kind, seed);
      const std::int64_t native_ns = test::native_ns(calm, story.call);
      const auto old = test::table_for(calm, story.call, native_ns);
      const auto best = test::table_for(worse, story.call, native_ns);
      const double usual = static_cast<double>(old->entries.front().predicted_ns) * 1e-9;
      const auto third = static_cast<std::size_t>(phase_s / usual);
      story.calls = 3 * third;
      story.changes = {{0, calm}, {third, worse}, {2 * third, calm}};
      const Run stays = test::run(story, Mode::stays, old);
      const Run knows = test::run(story, Mode::stays, best);
      const Run follows = test::run(story, Mode::follows, old);
      const double knowing =
          stays.seconds(0, third) +
          std::min(stays.seconds(third, 2 * third), knows.seconds(third, 2 * third)) +
          stays.seconds(2 * third, 3 * third);
      CHECK(follows.alike);
      CHECK(follows.seconds(0, 3 * third) / knowing < fault.most);
      REQUIRE_FALSE(follows.attempts.empty());
      const runtime::Attempt& first = follows.attempts.front();
      CHECK(first.outcome == runtime::Replanning::Outcome::adopted);
      CHECK(first.adopted > third);
      CHECK_FALSE(first.was_worse);
      CHECK(first.quantity == fault.quantity);
      REQUIRE_FALSE(first.causes.empty());
      CHECK(std::ranges::any_of(first.causes, [&](const Cause& cause) {
        return same(cause, fault.causes.front());
      }));
    }
}

TEST_CASE("on a calm network nothing is noticed, and nothing is lost") {
  const Network calm = three_sites();
  for (const Kind kind : {Kind::allreduce, Kind::bcast}) {
    const auto runs = test::share_of<std::uint64_t>(10, 1);
    std::size_t alarms = 0;
    double usual = 0, following = 0;
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
      Story story = story_of(calm, kind, seed);
      story.calls = 400;
      story.changes = {{0, calm}};
      story.noise = 0.2;
      const auto table =
          test::table_for(calm, story.call, test::native_ns(calm, story.call));
      const Run follows = test::run(story, Mode::follows, table);
      CHECK(follows.alike);
      alarms += follows.attempts.size();
      following += follows.seconds(0, story.calls);
      usual += test::run(story, Mode::races, table).seconds(0, story.calls);
    }
    CAPTURE(to_text(kind));
    CHECK(alarms == 0);
    CHECK(following / usual < 1.005);
  }
}
