#include "runtime/adapt/causes.hpp"
#include "runtime/adapt/diagnosis.hpp"
#include "runtime/adapt/watch.hpp"
#include "unit/share.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <random>
#include <set>

using namespace thalweg;
using collective::Kind;
using network::HostId;
using runtime::Cause;
using runtime::Quantity;
using What = Cause::What;

namespace {

using Random = std::mt19937_64;
constexpr std::int64_t one_second = 1'000'000'000, one_ms = 1'000'000;

/// Two sites with a trunk in each direction.
network::Network net_of_two_sites(HostId hosts) {
  network::Network net = network::even_network(hosts, units::Time(1e-4), units::Rate(1e8));
  net.sites.assign(2, {});
  for (HostId host = 0; host < hosts; ++host)
    net.sites[host < hosts / 2 ? 0 : 1].push_back(host);
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)})
    net.trunks.push_back({.name = from == 0 ? "east" : "west",
                          .from = net.sites[index(from)],
                          .to = net.sites[index(to)],
                          .capacity = units::Rate(2e8)});
  return net;
}

} // namespace

TEST_CASE("a spike or a flapping link isn't a drift, a lasting change is") {
  runtime::Watch watch;
  watch.look(10 * one_ms, 0, one_second, false);
  CHECK(watch.usual_ns() == 10 * one_ms);
  for (int i = 0; i < 50; ++i) // a spike now and then
    watch.look(i % 5 == 0 ? 100 * one_ms : 10 * one_ms, 0, one_second, false);
  CHECK_FALSE(watch.has_drifted());
  for (int i = 0; i < 200; ++i) { // two seconds each, half a second a look
    watch.look(i / 4 % 2 == 0 ? 100 * one_ms : 10 * one_ms, 0, one_second / 2, false);
    CHECK_FALSE(watch.has_drifted());
  }
  watch.look(12 * one_ms, 0, one_second, false); // within 25 %
  CHECK_FALSE(watch.is_off());
  int looks = 0;
  for (; !watch.has_drifted(); ++looks)
    watch.look(13 * one_ms, 0, one_second, false);
  CHECK(looks == 4); // three seconds after the first one
  CHECK(watch.is_slower());
  watch.settle();
  CHECK(watch.usual_ns() == 13 * one_ms);
  CHECK_FALSE(watch.is_off());
  for (int i = 0; i < 4; ++i)
    watch.look(5 * one_ms, 0, one_second, false);
  CHECK(watch.has_drifted());
  CHECK_FALSE(watch.is_slower());
  // Where calls take long, two looks suffice, and one never does.
  watch.settle();
  watch.look(10 * one_ms, 0, 10 * one_second, false);
  CHECK_FALSE(watch.has_drifted());
  watch.look(10 * one_ms, 0, 3 * one_second, false);
  CHECK(watch.has_drifted());
}

TEST_CASE("calls between two looks tell a link that flaps from one that stays slow") {
  for (const bool flaps : {true, false}) {
    CAPTURE(flaps);
    runtime::Watch watch;
    watch.look(10 * one_ms, 0, one_second, false);
    const std::int64_t calm_ns = flaps ? 2 * one_second : 0;
    watch.look(100 * one_ms, 0, one_second, false);
    CHECK(watch.begins_to_be_off());
    watch.look(100 * one_ms, 0, 4 * one_second, false, calm_ns);
    CHECK(watch.has_drifted() == !flaps);
    watch.look(10 * one_ms, 0, one_second, false);
    CHECK_FALSE(watch.begins_to_be_off());
    CHECK(watch.is_off() == !flaps);
  }
}

TEST_CASE("of calls that may overlap those tell what is usual that take no longer than before") {
  const auto usual = [](std::initializer_list<std::int64_t> costs_ms, std::int64_t pause_ns) {
    runtime::Watch watch;
    for (const std::int64_t cost_ms : costs_ms) {
      watch.look(cost_ms * one_ms, 90 * one_ms, pause_ns, true);
      CHECK_FALSE(watch.is_off());
    }
    for (int i = 0; i < 4; ++i)
      watch.look(60 * one_ms, 90 * one_ms, one_second, true);
    CHECK(watch.has_drifted());
    return watch.usual_ns() / one_ms;
  };
  CHECK(usual({27, 39, 42}, 3 * one_second) == 42);
  CHECK(usual({42, 30, 25, 25}, 3 * one_second) == 25);
  CHECK(usual({16, 24, 32, 42, 43, 46}, 3 * one_second) == 43);
  // Seven looks at most.
  CHECK(usual({10, 12, 14, 17, 20, 24, 29, 34}, 3 * one_second) == 29);
  // What the first five seconds show is no more than a beginning.
  CHECK(usual({27, 27, 28, 37, 38, 38}, one_second) == 38);
}

TEST_CASE("calls that may overlap are off from the beginning if they exceed predictions by far") {
  runtime::Watch watch;
  watch.look(30 * one_ms, 90 * one_ms, one_second, true);
  CHECK_FALSE(watch.is_off());
  for (int i = 0; i < 5; ++i)
    watch.look(200 * one_ms, 90 * one_ms, one_second, true);
  CHECK(watch.has_drifted());
  CHECK(watch.usual_ns() == 30 * one_ms);
  // If that turns out to be what they take, it is usual at once.
  watch.settle();
  for (int i = 0; i < 5; ++i)
    watch.look(200 * one_ms, 90 * one_ms, one_second, true);
  CHECK_FALSE(watch.is_off());
}

TEST_CASE("a prediction that is too low by two or too high by eight is a drift") {
  for (const bool may_overlap : {false, true})
    for (const std::int64_t cost : {9 * one_ms, 21 * one_ms, 2 * one_ms, one_ms}) {
      runtime::Watch watch;
      for (int i = 0; i < 4; ++i)
        watch.look(cost, 10 * one_ms, one_second, may_overlap);
      const bool is_off = cost == 21 * one_ms || (cost == one_ms && !may_overlap);
      CHECK(watch.has_drifted() == is_off);
      CHECK((watch.usual_ns() == cost) == !is_off);
    }
}

TEST_CASE("a cause changes its pairs and its capacity, and nothing else") {
  const network::Network net = net_of_two_sites(6);
  const Cause egress{.what = What::egress, .from = 2, .factor = 4, .excess_ns = 5e5};
  const auto slower = runtime::changed(net, std::vector{egress}, Quantity::bandwidth);
  const auto later = runtime::changed(net, std::vector{egress}, Quantity::latency);
  for (HostId a = 0; a < 6; ++a)
    for (HostId b = 0; b < 6; ++b) {
      const double factor = a == 2 && b != 2 ? 4 : 1;
      CHECK(slower.bandwidth(a, b).value() == net.bandwidth(a, b).value() / factor);
      CHECK(slower.latency(a, b) == net.latency(a, b));
      CHECK(later.bandwidth(a, b) == net.bandwidth(a, b));
      CHECK(later.latency(a, b).value() ==
            doctest::Approx(net.latency(a, b).value() + (factor > 1 ? 5e-4 : 0)));
    }
  CHECK(slower.hosts[2].egress.value() == net.hosts[2].egress.value() / 4);
  CHECK(slower.hosts[2].ingress == net.hosts[2].ingress);
  CHECK(later.hosts == net.hosts);
  const Cause sites{.what = What::sites, .from = 0, .to = 1, .factor = 2};
  const auto trunks = runtime::changed(net, std::vector{sites}, Quantity::bandwidth).trunks;
  CHECK(trunks[0].capacity.value() == net.trunks[0].capacity.value() / 2);
  CHECK(trunks[1].capacity == net.trunks[1].capacity);
  network::validate(slower);
  network::validate(later);
}

TEST_CASE("a plan that replaces a root's leaves the rows that its host's other ranks share") {
  const auto row = [](units::Size begin, std::int64_t ns) {
    return planner::Entry{.kind = Kind::bcast,
                          .root = 0,
                          .min_size = begin,
                          .native = true,
                          .skeleton = {},
                          .times = {{.size = begin, .plan_ns = ns}}};
  };
  const planner::Table before{{0, 0, 1}, {row(1, 10), row(1000, 20)}};
  planner::Table table = before;
  const runtime::RaceKey key = runtime::key_of(Kind::bcast, 0, 5000);
  runtime::put_plan(table, key, row(0, 30));
  CHECK(table.find(Kind::bcast, 0, 5000)->times.front().plan_ns == 30);
  CHECK(table.find(Kind::bcast, 1, 5000)->times.front().plan_ns == 20);
  CHECK(table.find(Kind::bcast, 0, 1000)->times == before.find(Kind::bcast, 0, 1000)->times);
  CHECK(table.find(Kind::bcast, 0, 1 << 20)->times == before.find(Kind::bcast, 0, 1 << 20)->times);
  CHECK(table.find(Kind::bcast, 2, 5000) == nullptr);
}

TEST_CASE("a plan replaces those of one class of sizes, in any table") {
  const auto cases = test::share_of<std::uint64_t>(200, 20);
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    CAPTURE(seed);
    bool is_right = true;
    Random random(seed);
    planner::Table table;
    table.placement = {0, 1};
    std::set<units::Size> begins;
    for (const Kind kind : {Kind::bcast, Kind::allreduce}) {
      begins.clear();
      for (std::uint64_t i = 0; i < 1 + random() % 5; ++i)
        begins.insert(static_cast<units::Size>(random() % 5000));
      for (const units::Size begin : begins) {
        planner::Entry row{.kind = kind, .min_size = begin, .native = false, .skeleton = {}};
        row.times = {{.plan_ns = begin + 1}};
        table.entries.push_back(row);
      }
    }
    const planner::Table old = table;
    const runtime::RaceKey key =
        runtime::key_of(Kind::bcast, 0, static_cast<units::Size>(random() % 5000));
    const units::Size end = std::max<units::Size>(1, 2 * key.class_begin());
    planner::Entry entry{.kind = Kind::bcast, .native = false, .skeleton = {}};
    entry.times = {{.plan_ns = -1}};
    runtime::put_plan(table, key, entry);
    for (units::Size size = 0; size < 9000; ++size) {
      const bool inside = size >= key.class_begin() && size < end;
      for (const Kind kind : {Kind::bcast, Kind::allreduce}) {
        const std::shared_ptr<const planner::Entry> now = table.find(kind, 0, size);
        const std::shared_ptr<const planner::Entry> before = old.find(kind, 0, size);
        if (inside && kind == Kind::bcast) {
          is_right &= now && now->times == entry.times;
        } else {
          // No row means native.
          const auto is_native = [](const auto& row) { return !row || row->native; };
          is_right &= is_native(now) == is_native(before);
          if (!is_native(now)) is_right &= now->times == before->times;
        }
      }
    }
    CHECK(is_right);
  }
}
