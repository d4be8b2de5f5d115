#include "record_reader.hpp"
#include "runtime/observe/call_table.hpp"
#include "runtime/observe/clock_bounds.hpp"
#include "runtime/observe/links.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <map>
#include <random>
#include <tuple>

using namespace thalweg;
using namespace thalweg::runtime;
using namespace thalweg::runtime::observe;

TEST_CASE("calls are counted by all of their properties") {
  const testing::TemporaryFolder folder;
  RecordFile file;
  REQUIRE(file.open(folder.path + "/record", {}).empty());
  CallTable table(file);
  struct Sums {
    std::uint64_t calls = 0, bytes = 0;
    Ticks time = 0, least = 0, most = 0;
  };
  using Key = std::tuple<std::uint64_t, int, int, int>;
  std::map<Key, Sums> expected;
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    CallKey key;
    key.communicator = 1 + random() % 5;
    key.root = static_cast<std::int32_t>(random() % 4);
    key.collective = static_cast<std::uint8_t>(random() % 3);
    key.datatype = static_cast<DatatypeClass>(random() % 4);
    const auto bytes = static_cast<std::int64_t>(random() % 1000);
    const auto time = static_cast<Ticks>(random() % 1000);
    table.count(key, {.bytes = bytes, .time = time});
    Sums& sums =
        expected[{key.communicator, key.root, key.collective, static_cast<int>(key.datatype)}];
    sums.least = sums.calls == 0 ? time : std::min(sums.least, time);
    sums.most = std::max(sums.most, time);
    ++sums.calls;
    sums.bytes += static_cast<std::uint64_t>(bytes);
    sums.time += time;
  }
  const auto found = testing::Record(folder.path + "/record").entries<CallsEntry>(EntryKind::calls);
  CHECK(found.size() == expected.size());
  for (const CallsEntry& entry : found) {
    const Sums& sums = expected.at({entry.key.communicator, entry.key.root, entry.key.collective,
                                    static_cast<int>(entry.key.datatype)});
    CHECK(entry.calls == sums.calls);
    CHECK(entry.bytes == sums.bytes);
    CHECK(entry.time == sums.time);
    CHECK(entry.least == sums.least);
    CHECK(entry.most == sums.most);
  }
}

TEST_CASE("communicators with the same members are entered once") {
  const testing::TemporaryFolder folder;
  RecordFile file;
  REQUIRE(file.open(folder.path + "/record", {}).empty());
  CallTable table(file);
  const std::vector<std::vector<int>> groups = {{0, 1, 2}, {0, 2, 1}, {0, 1, 2}, {3}, {0}};
  for (const auto& ranks : groups) {
    CommunicatorEntry entry;
    entry.members = members_hash(ranks);
    entry.ranks = static_cast<std::int32_t>(ranks.size());
    table.add(entry);
  }
  const auto found =
      testing::Record(folder.path + "/record").entries<CommunicatorEntry>(EntryKind::communicator);
  CHECK(found.size() == 4);
}

TEST_CASE("link observations are the sums of the transfers, by host") {
  const testing::TemporaryFolder folder;
  RecordFile file;
  REQUIRE(file.open(folder.path + "/record", {}).empty());
  const MessageTime expected{
      .base_ns = 100, .ns_per_byte = 2, .eager_limit = 50, .handshake_ns = 1000};
  Links links(file, {0, 1, 1}, [&](int) { return expected; });
  links.set_scale({.ns_per_tick = 0.5});
  links.sent(1, 10, 5);
  links.sent(2, 20, ~Ticks{0} - 1); // as an unsigned number, one that makes the sum overflow
  links.received(2, 10, 1000, 1000 + 4 * 120);   // twice what is expected
  links.received(1, 100, 1000, 1000 + 2 * 1300); // as expected, with a handshake
  links.received(0, 0, 1000, 1000);              // at once
  const auto found = testing::Record(folder.path + "/record").entries<LinkEntry>(EntryKind::link);
  REQUIRE(found.size() == 2);
  const LinkEntry& other = found[0].host == 1 ? found[0] : found[1];
  const LinkEntry& same = found[0].host == 1 ? found[1] : found[0];
  CHECK(other.sends == 2);
  CHECK(other.sent_bytes == 30);
  CHECK(other.posted.low == 3);
  CHECK(other.posted.high == 1);
  CHECK(other.receives == 2);
  CHECK(other.done.low == 2000 + 4 * 120 + 2 * 1300);
  CHECK(other.observed == 4 * 120 + 2 * 1300);
  CHECK(other.predicted_ns == doctest::Approx(120 + 1300));
  CHECK(other.ratios[ratio_class(2)] == 1);
  CHECK(other.ratios[ratio_class(1)] == 1);
  CHECK(same.ratios[0] == 1);
}

TEST_CASE("classes of ratios begin at 1/8, with two per power of two") {
  CHECK(ratio_class(0) == 0);
  for (std::size_t its = 0; its < ratio_classes; ++its) {
    const double least = std::ldexp(its % 2 == 0 ? 1 : 1.5, static_cast<int>(its / 2) - 3);
    CHECK(ratio_class(least) == its);
    if (its > 0) CHECK(ratio_class(std::nextafter(least, 0)) == its - 1);
  }
  CHECK(ratio_class(1e9) == ratio_classes - 1);
}

TEST_CASE("the offset of a clock is within its error, however asymmetric the paths are") {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const auto offset = static_cast<std::int64_t>(random()) - (std::int64_t{1} << 31);
    const std::int64_t there = 1 + random() % 1000, back = 1 + random() % 100'000;
    ClockBounds bounds;
    std::int64_t shortest = std::int64_t{1} << 40;
    for (int round = 0; round < 10; ++round) {
      const std::int64_t before = 1'000'000 * round, going = there + random() % 5000,
                         coming = back + random() % 5000;
      bounds.add(before, before + going + offset, before + going + coming);
      shortest = std::min(shortest, going + coming);
    }
    const ClockReading reading = bounds.reading();
    CHECK(std::abs(reading.offset_ns - offset) <= reading.error_ns);
    CHECK(reading.error_ns <= shortest / 2 + 1);
  }
}

TEST_CASE("a clock that is compared again and again is known between comparisons, hours long") {
  std::mt19937 random(4);
  const auto drawn = [&](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  for (int trial = 0; trial < 100; ++trial) {
    CAPTURE(trial);
    const double began = drawn(-1e12, 1e12), drift = drawn(-80e-6, 80e-6);
    const std::int64_t error = static_cast<std::int64_t>(drawn(1000, 100'000));
    // The drift changes with the temperature, by 3 ppm in half an hour.
    const auto offset = [&](double at_ns) {
      return began + drift * at_ns + 3e-6 * 1.8e12 * std::sin(at_ns / 1.8e12);
    };
    ComparedClock clock;
    CHECK_FALSE(clock.at(0));
    double at_ns = 0;
    for (int comparison = 0; comparison < 200; ++comparison) {
      clock.add({static_cast<std::int64_t>(at_ns),
                 std::llround(offset(at_ns) + drawn(-1, 1) * static_cast<double>(error)), error});
      const double pause_ns = drawn(1e9, 64e9);
      const double later_ns = at_ns + drawn(0, 1) * pause_ns;
      const auto said = clock.at(static_cast<std::int64_t>(later_ns));
      REQUIRE(said);
      CHECK(std::abs(static_cast<double>(said->offset_ns) - offset(later_ns)) <=
            static_cast<double>(said->error_ns) + 1);
      const double since_ns = later_ns - at_ns;
      CHECK(static_cast<double>(said->error_ns) <=
            static_cast<double>(error) + 100e-6 * since_ns + 1);
      if (comparison > 30) // So what is left of the drift is little more than its changes.
        CHECK(static_cast<double>(said->error_ns) <=
              static_cast<double>(error) + 11e-6 * since_ns + 1);
      at_ns += pause_ns;
    }
  }
}
