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
using runtime::PairChange;
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

/// What would be observed of the pairs if the causes held: noise of a tenth besides.
std::vector<PairChange> drawn_pairs(const network::Network& net, const std::vector<Cause>& planted,
                                    double share, Random& random) {
  std::uniform_real_distribution<double> noise(0.9, 1.1), chance(0, 1);
  std::vector<PairChange> pairs;
  for (HostId a = 0; a < net.size(); ++a)
    for (HostId b = 0; b < net.size(); ++b) {
      if (a == b || chance(random) > share) continue;
      PairChange pair{.from = a, .to = b, .factor = noise(random), .excess_ns = 0};
      for (const Cause& cause : planted)
        if (cause.covers(net, a, b)) pair.factor *= cause.factor;
      pair.excess_ns = 1e6 * (pair.factor - 1);
      pairs.push_back(pair);
    }
  return pairs;
}

bool same_cause(const Cause& one, const Cause& other) {
  return one.what == other.what && one.from == other.from && one.to == other.to;
}

/// Sums over `count` messages that were sent every 10 ms and took so long.
runtime::observe::PairTimes sent_messages(std::uint64_t count, std::int64_t takes_ns,
                                          std::int64_t late_ns) {
  runtime::observe::PairTimes times;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t sent = 1'000'000'000'000'000'000 + i * 10'000'000;
    times.sent_ns += sent;
    times.done_ns += sent + static_cast<std::uint64_t>(takes_ns);
    const auto waited = static_cast<std::uint64_t>(takes_ns + late_ns);
    times.waited_ns += waited;
    times.squares += (waited / 1000) * (waited / 1000);
  }
  times.sends = times.receives = count;
  times.bytes = 1000 * count;
  return times;
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
  // Where calls take long, two looks suffice.
  watch.settle();
  watch.look(10 * one_ms, 0, 5 * one_second, false);
  watch.look(10 * one_ms, 0, 5 * one_second, false);
  CHECK_FALSE(watch.has_drifted());
  watch.settle();
  watch.look(20 * one_ms, 0, 6 * one_second, false);
  watch.look(20 * one_ms, 0, 6 * one_second, false);
  CHECK(watch.has_drifted());
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

TEST_CASE("a planted cause is found, alone and beside others") {
  const auto cases = test::share_of<std::uint64_t>(300, 20);
  std::size_t right = 0;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const network::Network net = net_of_two_sites(static_cast<HostId>(6 + random() % 6));
    std::vector<Cause> planted;
    const double factor = std::uniform_real_distribution<double>(2, 12)(random);
    const auto host = [&] { return static_cast<std::int32_t>(random() % index(net.size())); };
    const auto kind = seed % 3;
    if (kind == 0) planted.push_back({.what = What::trunk, .from = 1, .factor = factor});
    if (kind == 1) planted.push_back({.what = What::egress, .from = host(), .factor = factor});
    if (kind == 2) planted.push_back({.what = What::ingress, .from = host(), .factor = factor});
    if (seed % 2 == 1) planted.back().factor = 1 / factor; // it became better
    const auto found = runtime::find_causes(net, drawn_pairs(net, planted, 1, random));
    REQUIRE(found.size() == 1);
    CHECK(same_cause(found.front(), planted.front()));
    CHECK(found.front().factor == doctest::Approx(planted.front().factor).epsilon(0.15));
    // A plan uses some pairs only.
    const auto seen = drawn_pairs(net, planted, 0.4, random);
    const auto guessed = runtime::find_causes(net, seen);
    right += guessed.size() == 1 && same_cause(guessed.front(), planted.front()) ? 1 : 0;
  }
  CHECK(10 * right > 8 * cases);
}

TEST_CASE("both directions of a host's port are two causes, and a pair alone is one") {
  Random random(7);
  const network::Network net = net_of_two_sites(8);
  const std::vector<Cause> port = {{.what = What::egress, .from = 3, .factor = 8},
                                   {.what = What::ingress, .from = 3, .factor = 8}};
  auto found = runtime::find_causes(net, drawn_pairs(net, port, 1, random));
  REQUIRE(found.size() == 2);
  for (const Cause& cause : found)
    CHECK((same_cause(cause, port[0]) || same_cause(cause, port[1])));
  const std::vector<Cause> pair = {{.what = What::pair, .from = 2, .to = 5, .factor = 6}};
  found = runtime::find_causes(net, drawn_pairs(net, pair, 1, random));
  REQUIRE(found.size() == 1);
  CHECK(same_cause(found.front(), pair.front()));
  // In a tree a host has one parent: if the parent reaches others as before, it is the host's port.
  const std::vector<PairChange> tree = {{.from = 0, .to = 1, .factor = 1.0},
                                        {.from = 0, .to = 3, .factor = 7.0},
                                        {.from = 1, .to = 2, .factor = 1.1}};
  found = runtime::find_causes(net, tree);
  REQUIRE(found.size() == 1);
  CHECK(found.front().what == What::ingress);
  CHECK(found.front().from == 3);
}

TEST_CASE("nothing is concluded from noise, from nothing, or from a mess") {
  Random random(11);
  const network::Network net = net_of_two_sites(8);
  CHECK(runtime::find_causes(net, {}).empty());
  CHECK(runtime::find_causes(net, drawn_pairs(net, {}, 1, random)).empty());
  std::vector<PairChange> mess = drawn_pairs(net, {}, 1, random);
  for (std::size_t i = 0; i < mess.size(); i += 5) // different for each pair
    mess[i].factor = 3 + 0.1 * static_cast<double>(i % 7);
  CHECK(runtime::find_causes(net, mess).empty());
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

TEST_CASE("late receivers and starved senders don't make a network look slow") {
  runtime::Observations seen;
  seen.network = net_of_two_sites(4);
  seen.hosts = {0, 1, 2, 3};
  seen.usual_ns = 10 * one_ms;
  seen.cost_ns = 50 * one_ms;
  constexpr std::size_t classes = runtime::observe::PairTimes::classes;
  seen.before.resize(16 * classes);
  seen.since.resize(16 * classes);
  const auto put = [&](std::size_t from, std::size_t to, const auto& before, const auto& since,
                       std::size_t at = 0) {
    seen.before[(4 * from + to) * classes + at] = before;
    seen.since[(4 * from + to) * classes + at] = since;
  };
  put(0, 1, sent_messages(10, 2 * one_ms, 0),
      sent_messages(40, 10 * one_ms, 0)); // five times as long
  put(0, 2, sent_messages(10, 2 * one_ms, 0),
      sent_messages(40, 2 * one_ms, 30 * one_ms)); // its data came late
  auto late = sent_messages(40, 30 * one_ms, 0);   // its receiver came late, so it isn't known
  late.waited_ns = 40 * 2 * one_ms;
  put(1, 3, sent_messages(10, 2 * one_ms, 0), late);
  auto lost = sent_messages(40, 90 * one_ms, 0); // of which a receiver couldn't count all
  lost.receives = 39;
  put(2, 3, sent_messages(10, 2 * one_ms, 0), lost);
  // Receives are posted after the message was sent, and before it arrives.
  const auto under_way = sent_messages(40, 10 * one_ms, -6 * one_ms);
  put(3, 0, sent_messages(10, 2 * one_ms, -one_ms), under_way);
  // Half of the messages are waited for before they are sent, the others are there.
  auto mixed = sent_messages(20, 2 * one_ms, 16 * one_ms);
  mixed += sent_messages(20, 18 * one_ms, -18 * one_ms);
  put(3, 1, sent_messages(10, 2 * one_ms, -one_ms), mixed);
  // In another step of the schedule they are as before.
  put(3, 2, sent_messages(10, 2 * one_ms, -one_ms), mixed);
  put(3, 2, sent_messages(10, 2 * one_ms, 0), sent_messages(10, 2 * one_ms, 0), 3);
  const auto changes = runtime::compare(seen);
  REQUIRE(changes.size() == 4);
  for (const PairChange& change : changes) {
    const bool is_slow = change.to != 2;
    CHECK(change.factor == doctest::Approx(is_slow ? 5 : 1));
    CHECK(change.excess_ns == doctest::Approx(is_slow ? 8e6 : 0));
  }
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
        row.predicted_ns = begin + 1;
        table.entries.push_back(row);
      }
    }
    const planner::Table old = table;
    const runtime::RaceKey key{
        .kind = Kind::bcast, .root = 0, .size_class = static_cast<std::uint8_t>(random() % 13)};
    planner::Entry entry{.kind = Kind::bcast, .native = false, .skeleton = {}};
    entry.predicted_ns = -1;
    runtime::put_plan(table, key, entry);
    for (units::Size size = 0; size < 9000; ++size) {
      const bool inside = std::bit_width(static_cast<std::uint64_t>(size)) == key.size_class;
      for (const Kind kind : {Kind::bcast, Kind::allreduce}) {
        const planner::Entry* const now = table.find(kind, 0, size);
        const planner::Entry* const before = old.find(kind, 0, size);
        if (inside && kind == Kind::bcast) {
          is_right &= now != nullptr && now->predicted_ns == -1;
        } else {
          // No row means native.
          const auto is_native = [](const auto* row) { return row == nullptr || row->native; };
          is_right &= is_native(now) == is_native(before);
          if (!is_native(now)) is_right &= now->predicted_ns == before->predicted_ns;
        }
      }
    }
    CHECK(is_right);
  }
}

TEST_CASE("for a port that became slow, a plan is made that avoids it") {
  runtime::Observations seen;
  seen.network = network::even_network(8, units::Time(1e-4), units::Rate(1e7));
  for (network::HostId host = 0; host < 8; ++host) {
    seen.hosts.push_back(host);
    seen.placement.push_back(host);
  }
  const std::vector kinds = {Kind::bcast};
  planner::PlanOptions options;
  options.disabled = {"native"};
  options.threads = 1;
  seen.table = planner::make_table(seen.network, seen.placement, kinds, options, 1 << 20);
  seen.shape = {
      .key = {.kind = Kind::bcast, .root = 0, .size_class = 18}, .size = 200'000, .calls = 100};
  const std::vector<Cause> truth = {{.what = What::egress, .from = 5, .factor = 10}};
  const network::Network now = runtime::changed(seen.network, truth, Quantity::bandwidth);
  // What the simulator says of the plan in force, before and since.
  const planner::Entry* const entry = seen.table.find(Kind::bcast, 0, 200'000);
  REQUIRE(entry != nullptr);
  REQUIRE_FALSE(entry->native);
  const auto simulate = [&](const network::Network& net,
                            std::vector<runtime::observe::PairTimes>& times) {
    simulator::SimulationOptions simulation;
    simulation.timeline = true;
    const collective::Collective bcast{.kind = Kind::bcast, .ranks = 8, .root = 0, .size = 200'000};
    const auto result = simulator::simulate(
        algorithms::make_problem(bcast, net, seen.placement, ""), entry->skeleton, simulation);
    times.assign(64 * runtime::observe::PairTimes::classes, {});
    for (const auto& message : result.timeline) {
      auto& pair =
          times[index(8 * message.from + message.to) * runtime::observe::PairTimes::classes];
      ++pair.sends;
      ++pair.receives;
      pair.bytes += static_cast<std::uint64_t>(message.size);
      pair.sent_ns += static_cast<std::uint64_t>(message.start.value() * 1e9);
      pair.done_ns += static_cast<std::uint64_t>(message.end.value() * 1e9);
      // From when both ends had posted it, which the timeline doesn't tell.
      const double rate = std::min(net.bandwidth(message.from, message.to).value(),
                                   net.hosts[index(message.from)].egress.value());
      const double alone =
          net.latency(message.from, message.to).value() + static_cast<double>(message.size) / rate;
      const auto waited = static_cast<std::uint64_t>(alone * 1e9);
      pair.waited_ns += waited;
      pair.squares += (waited / 1000) * (waited / 1000);
    }
    return static_cast<std::int64_t>(result.time.value() * 1e9);
  };
  seen.usual_ns = simulate(seen.network, seen.before);
  seen.cost_ns = simulate(now, seen.since);
  const std::atomic<bool> cancelled{false};
  const runtime::Replan result = runtime::replan(seen, cancelled);
  const bool was_used = seen.cost_ns > seen.usual_ns * 5 / 4;
  REQUIRE(was_used); // otherwise another host is to be planted
  REQUIRE(result.causes.size() == 1);
  CHECK((same_cause(result.causes.front(), truth.front()) ||
         result.causes.front().what == What::pair));
  CHECK(result.quantity == Quantity::bandwidth);
  REQUIRE(result.changes.size() == 1);
  CHECK(result.changes.front().after_ns < result.changes.front().before_ns);
  // It is better on the true network, too.
  const planner::Entry* const better = result.table.find(Kind::bcast, 0, 200'000);
  const auto time = [&](const planner::Entry& row) {
    const collective::Collective bcast{.kind = Kind::bcast, .ranks = 8, .root = 0, .size = 200'000};
    return simulator::simulate(algorithms::make_problem(bcast, now, seen.placement, ""),
                               row.skeleton)
        .time.value();
  };
  CHECK(time(*better) < 0.95 * time(*entry));
  const std::atomic<bool> is_cancelled{true};
  CHECK_FALSE(runtime::replan(seen, is_cancelled).is_worth_it());
  // The port recovers: calls take as long as before, and messages through the port less.
  runtime::Observations later = seen;
  later.unimpaired = seen.network;
  later.avoided = truth;
  later.network = result.network;
  later.table = result.table;
  later.cost_ns = later.usual_ns;
  const auto send = [&](std::int64_t takes_ns) {
    for (std::size_t to = 0; to < 5; ++to) {
      const std::size_t pair = (8 * 5 + to) * runtime::observe::PairTimes::classes;
      later.before[pair] = sent_messages(10, 10 * one_ms, 0);
      later.since[pair] = sent_messages(10, takes_ns, 0);
    }
  };
  send(2 * one_ms);
  CHECK(runtime::replan(later, cancelled).network.bandwidth == seen.network.bandwidth);
  send(7 * one_ms); // still far from what it was
  CHECK(runtime::replan(later, cancelled).causes.empty());
  send(2 * one_ms);
  later.avoided.front().from = 4; // another host's port says nothing of that
  CHECK(runtime::replan(later, cancelled).causes.empty());
}
