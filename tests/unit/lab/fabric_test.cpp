#include "lab/fabric.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <iterator>
#include <random>
#include <vector>

using namespace thalweg::lab;
using thalweg::network::even_network;

namespace {

constexpr Instant us = 1000, ms = 1000 * us;
constexpr double mbps = 1e6 / 8; // bytes per second

/// Hosts alike at 100 Mbit/s, so that a frame of 1,250 bytes takes 100 us; 1 ms apart.
Scenario scenario(HostId hosts = 4) {
  Scenario result;
  result.network = even_network(hosts, Time(1e-3), Rate(100 * mbps));
  for (auto& host : result.network.hosts)
    host.egress = host.ingress = Rate(100 * mbps);
  return result;
}

Frame frame(HostId from, HostId to, std::int32_t size = 1250) { return {from, to, size, 0}; }

/// Everything that happens from now on.
std::vector<Outcome> outcomes(Fabric& fabric) {
  std::vector<Outcome> result;
  while (fabric.next())
    if (const auto outcome = fabric.step(*fabric.next())) result.push_back(*outcome);
  return result;
}

std::size_t count(const std::vector<Outcome>& all, Fate fate) {
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [&](const Outcome& each) { return each.fate == fate; }));
}

/// No window of time may carry more than the rate, but for the frame that ends at its beginning.
void check_rate(const std::vector<Outcome>& all, double bytes_per_second) {
  for (std::size_t first = 0; first < all.size(); ++first) {
    double bytes = 0;
    for (auto last = first + 1; last < all.size(); ++last) {
      bytes += all[last].frame.size;
      REQUIRE(static_cast<double>(all[last].at - all[first].at) * 1e-9 * bytes_per_second >=
              bytes - 1e-3);
    }
  }
}

} // namespace

TEST_CASE("a single frame takes its size over the smallest rate, once, plus the latency") {
  auto plain = scenario();
  SUBCASE("all rates alike") {}
  SUBCASE("with a trunk of the same rate") {
    plain.network.trunks = {{"trunk", {0}, {1}, Rate(100 * mbps)}};
  }
  SUBCASE("with faster stages around the slow one") {
    plain.network.hosts[0].egress = Rate(1000 * mbps);
    plain.network.trunks = {{"trunk", {0}, {1}, Rate(400 * mbps)}};
  }
  SUBCASE("slow at the end only") {
    plain.network.hosts[0].egress = Rate::infinity();
    plain.network.bandwidth.set(0, 1, Rate(500 * mbps));
  }
  Fabric fabric(plain);
  fabric.submit(frame(0, 1), 5 * ms);
  const auto all = outcomes(fabric);
  REQUIRE(all.size() == 1);
  CHECK(all[0].fate == Fate::delivered);
  CHECK(all[0].at == 5 * ms + 100 * us + 1 * ms);
}

TEST_CASE("unlimited rates leave the latency alone") {
  auto fast = scenario();
  fast.network = even_network(2, Time(1e-3), Rate::infinity());
  Fabric fabric(fast);
  fabric.submit(frame(0, 1), 0);
  CHECK(outcomes(fabric).at(0).at == 1 * ms);
}

TEST_CASE("latency and rate are directed") {
  auto directed = scenario();
  directed.network.latency.set(1, 0, Time(3e-3));
  directed.network.bandwidth.set(1, 0, Rate(50 * mbps));
  Fabric fabric(directed);
  fabric.submit(frame(0, 1), 0);
  CHECK(outcomes(fabric).at(0).at == 1100 * us);
  fabric.submit(frame(1, 0), 0);
  CHECK(outcomes(fabric).at(0).at == 3200 * us);
}

TEST_CASE("no burst credit: an idle port has nothing saved up") {
  Fabric fabric(scenario());
  for (int each = 0; each < 10; ++each)
    fabric.submit(frame(0, 1), 100 * ms);
  const auto all = outcomes(fabric);
  for (std::size_t each = 0; each < all.size(); ++each)
    CHECK(all[each].at == 101 * ms + static_cast<Instant>(each + 1) * 100 * us);
}

TEST_CASE("random traffic never exceeds a rate") {
  // One rate at a time is finite: behind it another queue may bunch up what it had spaced out.
  auto limited = scenario(6);
  limited.network = even_network(6, Time(1e-3), Rate::infinity());
  const double rate = 37 * mbps;
  HostId senders = 3;
  SUBCASE("ingress") { limited.network.hosts[3].ingress = Rate(rate); }
  SUBCASE("trunk") { limited.network.trunks = {{"trunk", {0, 1, 2}, {3}, Rate(rate)}}; }
  SUBCASE("pair") {
    limited.network.bandwidth.set(0, 3, Rate(rate));
    senders = 1;
  }
  std::mt19937 random(11);
  std::uniform_int_distribution<std::int32_t> size(60, 9014);
  std::uniform_int_distribution<Instant> gap(
      0, 1200 * us); // a frame takes 980 us on average: the queue overflows
  Fabric fabric(limited);
  Instant now = 0;
  for (int each = 0; each < 2000; ++each) {
    now += gap(random);
    const auto from = std::uniform_int_distribution<HostId>(0, senders - 1)(random);
    fabric.submit(frame(from, 3, size(random)), now);
  }
  std::vector<Outcome> delivered;
  for (const auto& each : outcomes(fabric))
    if (each.fate == Fate::delivered) delivered.push_back(each);
  CHECK(delivered.size() > 500);
  check_rate(delivered, rate);
}

TEST_CASE("hosts on a trunk share it") {
  auto shared = scenario(8);
  shared.network.trunks = {{"trunk", {0, 1, 2, 3}, {4, 5, 6, 7}, Rate(200 * mbps)}};
  shared.queues.trunk = 10'000'000;
  Fabric fabric(shared);
  for (int each = 0; each < 200; ++each)
    for (HostId host = 0; host < 4; ++host)
      fabric.submit(frame(host, host + 4), 0);
  const auto all = outcomes(fabric);
  REQUIRE(count(all, Fate::delivered) == 800);
  // 800 frames of 1,250 bytes at 200 Mbit/s: the last begins to leave the trunk after 799 of them
  // and the 50 us that the first one, from a slower host, makes it wait. Its own host takes 100 us.
  CHECK(all.back().at == 800 * 50 * us + 100 * us + 1 * ms);
  // Fair: at any time no host is more than one frame behind another.
  std::vector<int> done(4);
  for (const auto& each : all) {
    ++done[static_cast<std::size_t>(each.frame.from)];
    CHECK(*std::max_element(done.begin(), done.end()) -
              *std::min_element(done.begin(), done.end()) <=
          1);
  }
}

TEST_CASE("a full queue drops at its tail, and only then") {
  auto small = scenario();
  SUBCASE("ingress") {
    small.queues.ingress = 12'500; // ten frames
    Fabric fabric(small);
    // Two hosts send at full rate to one: the queue grows by half of what arrives.
    for (int each = 0; each < 100; ++each) {
      fabric.submit(frame(0, 2), each * 100 * us);
      fabric.submit(frame(1, 2), each * 100 * us);
    }
    const auto all = outcomes(fabric);
    const auto dropped = count(all, Fate::dropped_by_ingress);
    // 200 frames came within 10 ms, in which 100 leave; ten more wait, give or take those on the
    // edge.
    CHECK(dropped >= 88);
    CHECK(dropped <= 91);
    CHECK(count(all, Fate::delivered) + dropped == 200);
    const auto first = std::find_if(all.begin(), all.end(), [](const Outcome& each) {
      return each.fate == Fate::dropped_by_ingress;
    });
    CHECK(std::distance(all.begin(), first) >= 10);
  }
  SUBCASE("trunk") {
    small.network.trunks = {{"trunk", {0, 1}, {2, 3}, Rate(100 * mbps)}};
    small.queues.trunk = 12'500;
    Fabric fabric(small);
    for (int each = 0; each < 100; ++each) {
      fabric.submit(frame(0, 2), each * 100 * us);
      fabric.submit(frame(1, 3), each * 100 * us);
    }
    const auto all = outcomes(fabric);
    CHECK(count(all, Fate::dropped_by_trunk) == fabric.trunk_drops()[0]);
    CHECK(fabric.trunk_drops()[0] >= 88);
    CHECK(fabric.trunk_drops()[0] <= 91);
  }
  SUBCASE("a pair slower than its host") {
    small.network.bandwidth.set(0, 1, Rate(50 * mbps));
    small.queues.pair = 12'500;
    Fabric fabric(small);
    for (int each = 0; each < 100; ++each)
      fabric.submit(frame(0, 1), each * 100 * us);
    const auto dropped = count(outcomes(fabric), Fate::dropped_by_pair);
    CHECK(dropped >= 38);
    CHECK(dropped <= 41);
  }
}

TEST_CASE("the sender's own queue has no limit") {
  Fabric fabric(scenario());
  for (int each = 0; each < 5000; ++each)
    fabric.submit(frame(0, 1), 0);
  CHECK(count(outcomes(fabric), Fate::delivered) == 5000);
}

TEST_CASE("losses follow the probability and the seed") {
  auto lossy = scenario();
  lossy.loss = 0.1;
  const auto lost = [&](std::uint64_t seed) {
    lossy.seed = seed;
    Fabric fabric(lossy);
    for (int each = 0; each < 10'000; ++each)
      fabric.submit(frame(0, 1), each * 200 * us);
    std::vector<Instant> when;
    for (const auto& each : outcomes(fabric))
      if (each.fate == Fate::lost) when.push_back(each.at);
    return when;
  };
  // Ten thousand draws at 0.1: the standard deviation is 30.
  CHECK(lost(1).size() > 850);
  CHECK(lost(1).size() < 1150);
  CHECK(lost(1) == lost(1));
  CHECK(lost(1) != lost(2));
}

TEST_CASE("the timeline changes what comes after") {
  auto changing = scenario();
  changing.timeline = {{.at = Time(10e-3),
                        .from = {0},
                        .to = {1},
                        .latency = Time(5e-3),
                        .bandwidth = Rate(10 * mbps)},
                       {.at = Time(20e-3), .hosts = {2}, .egress = Rate(50 * mbps)}};
  Fabric fabric(changing);
  fabric.start(1000 * ms);
  fabric.submit(frame(0, 1), 1001 * ms);
  CHECK(outcomes(fabric).at(0).at == 1001 * ms + 1100 * us);
  fabric.submit(frame(0, 1), 1012 * ms);
  CHECK(outcomes(fabric).at(0).at == 1012 * ms + 1 * ms + 5 * ms);
  fabric.submit(frame(2, 3), 1030 * ms);
  CHECK(outcomes(fabric).at(0).at == 1030 * ms + 200 * us + 1 * ms);
  CHECK(fabric.latency(0, 1) == 5 * ms);
}

TEST_CASE("frames of a pair stay in order when its latency shrinks") {
  auto shrinking = scenario();
  shrinking.timeline = {{.at = Time(1e-3), .from = {0}, .to = {1}, .latency = Time(10e-6)}};
  Fabric fabric(shrinking);
  fabric.start(0);
  for (std::uint32_t each = 0; each < 30; ++each)
    fabric.submit({0, 1, 1250, each}, each * 100 * us);
  const auto all = outcomes(fabric);
  REQUIRE(all.size() == 30);
  for (std::uint32_t each = 0; each < 30; ++each)
    CHECK(all[each].frame.buffer == each);
}

TEST_CASE("dilation makes everything take that much longer") {
  std::mt19937 random(3);
  std::vector<std::pair<Frame, Instant>> traffic;
  Instant now = 0;
  for (int each = 0; each < 500; ++each) {
    now += std::uniform_int_distribution<Instant>(0, 50)(random) * us;
    const auto from = std::uniform_int_distribution<HostId>(0, 3)(random);
    traffic.push_back({frame(from, (from + 1) % 4), now});
  }
  const auto run = [&](double dilation) {
    auto one = scenario();
    one.network.trunks = {{"trunk", {0, 1}, {2, 3}, Rate(80 * mbps)}};
    one.queues.trunk = 30'000;
    one.dilation = dilation;
    Fabric fabric(dilated(one));
    for (const auto& [each, at] : traffic)
      fabric.submit(each, at * static_cast<Instant>(dilation));
    return outcomes(fabric);
  };
  const auto once = run(1), thrice = run(3);
  REQUIRE(once.size() == thrice.size());
  CHECK(count(once, Fate::dropped_by_trunk) > 0);
  for (std::size_t each = 0; each < once.size(); ++each) {
    CHECK(once[each].fate == thrice[each].fate);
    CHECK(static_cast<double>(once[each].at * 3) ==
          doctest::Approx(static_cast<double>(thrice[each].at)));
  }
}

TEST_CASE("what waits when a rate changes leaves at the new rate") {
  // Two hosts send 50 Mbit/s to two others, through a trunk whose queue holds a hundred frames.
  auto changing = scenario();
  changing.network.trunks = {{"trunk", {0, 1}, {2, 3}, Rate(10 * mbps)}};
  changing.queues.trunk = 125'000;
  for (auto& host : changing.network.hosts)
    host.ingress = Rate::infinity();
  const auto send = [&](int frames, Rate after) {
    changing.timeline = {{.at = Time(50e-3), .trunk = 0, .capacity = after}};
    Fabric fabric(changing);
    fabric.start(0);
    std::vector<Outcome> all;
    for (int each = 0; each < frames; ++each) {
      while (const auto outcome = fabric.step(each * 200 * us))
        all.push_back(*outcome);
      fabric.submit(frame(each % 2, 2 + each % 2), each * 200 * us);
    }
    std::ranges::copy(outcomes(fabric), std::back_inserter(all));
    return all;
  };
  SUBCASE("a queue that is full drops nothing once its port is faster than what arrives") {
    const auto all = send(1000, Rate(100 * mbps));
    CHECK(count(all, Fate::dropped_by_trunk) > 50);
    for (const auto& each : all)
      if (each.fate == Fate::dropped_by_trunk) CHECK(each.at <= 50 * ms);
    CHECK(all.back().at == 999 * 200 * us + 100 * us + 1 * ms);
    // A hundred frames, and one for each two of them that come meanwhile.
    const auto later = [&](Instant at) {
      return std::count_if(all.begin(), all.end(), [&](const Outcome& each) {
        return each.fate == Fate::delivered && each.at <= at + 1 * ms;
      });
    };
    CHECK(later(70 * ms) - later(50 * ms) >= 198);
  }
  SUBCASE("a queue whose port becomes unlimited empties at once") {
    const auto all = send(250, Rate::infinity());
    CHECK(all.back().at == 51 * ms);
  }
  SUBCASE("a slower port keeps to its new rate from then on") {
    changing.network.trunks[0].capacity = Rate(40 * mbps);
    const auto all = send(250, Rate(4 * mbps));
    std::vector<Outcome> after;
    for (const auto& each : all)
      if (each.fate == Fate::delivered && each.at > 51 * ms) after.push_back(each);
    CHECK(after.size() > 40);
    check_rate(after, 4 * mbps);
  }
}

TEST_CASE("an unlimited port drops nothing") {
  auto changing = scenario();
  changing.network.trunks = {{"trunk", {0, 1}, {2, 3}, Rate::infinity()}};
  changing.timeline = {{.at = Time(1), .trunk = 0, .capacity = Rate(10 * mbps)}};
  changing.queues.trunk = 9014;
  Fabric fabric(changing);
  fabric.start(0);
  for (int each = 0; each < 50; ++each) {
    fabric.submit(frame(0, 2), 10 * ms + each * us);
    fabric.submit(frame(1, 3), 10 * ms - each * us); // read later than it left
  }
  CHECK(count(outcomes(fabric), Fate::delivered) == 100);
}
