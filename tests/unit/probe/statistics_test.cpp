#include "probe/arrivals.hpp"
#include "probe/pace.hpp"
#include "probe/statistics.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <random>

using namespace thalweg::probe;
using doctest::Approx;

namespace {

/// Arrivals every `interval` after `start`, each late by a random time below `jitter`.
std::vector<Nanoseconds> arrivals(std::size_t count, double interval, double start, double jitter,
                                  unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> late(0, jitter);
  std::vector<Nanoseconds> times;
  for (std::size_t i = 0; i < count; ++i)
    times.push_back(
        static_cast<Nanoseconds>(start + static_cast<double>(i) * interval + late(random)));
  return times;
}

} // namespace

TEST_CASE("a latency is found under noise that only delays") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    std::exponential_distribution<double> noise(1.0 / 30'000);
    LowQuantile latency;
    for (int k = 0; k < 400; ++k)
      latency.add(400'000 + static_cast<Nanoseconds>(noise(random)));
    CHECK(latency.estimate().value == Approx(400'000).epsilon(0.02));
    CHECK(latency.estimate().value >= 400'000);
  }
}

TEST_CASE("the interval of the quantile covers it as often as it says") {
  // Uniform on [0, 1e9): the lowest fiftieth is 2e7.
  int covered = 0;
  constexpr int trials = 400;
  for (unsigned seed = 0; seed < trials; ++seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<Nanoseconds> sample(0, 1'000'000'000);
    LowQuantile quantile;
    for (int k = 0; k < 100; ++k)
      quantile.add(sample(random));
    const auto [value, error] = quantile.estimate();
    covered += std::abs(value - 2e7) <= 2 * error * value ? 1 : 0; // error is half of the width
  }
  CHECK(covered >= 0.95 * trials);
}

TEST_CASE("a quiet pair stops early, a noisy one doesn't") {
  LowQuantile quiet, noisy;
  for (int k = 0; k < 8; ++k) {
    CHECK_FALSE(quiet.tight(8, 0.02));
    quiet.add(20'000'000 + k * 1000);
    noisy.add(100'000 + k * 50'000);
  }
  CHECK(quiet.tight(8, 0.02));
  CHECK_FALSE(noisy.tight(8, 0.02));
}

TEST_CASE("one sample has no interval") {
  LowQuantile latency;
  latency.add(5);
  CHECK(latency.estimate().value == 5);
  CHECK(std::isinf(latency.estimate().error));
}

TEST_CASE("median") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 2.5);
}

TEST_CASE("a steady stream's rate is exact, its error nothing") {
  const auto [rate, drift, length] =
      steady_rate(arrivals(16, 1e6, 5e9, 0), 10'000, 0); // 10 KB a millisecond
  CHECK(rate.value == Approx(1e7));
  CHECK(rate.error == Approx(0).epsilon(1e-9));
  CHECK(drift == Approx(0).epsilon(1e-9));
  CHECK(length == 14'000'000);
}

TEST_CASE("a slow start doesn't count") {
  auto times = arrivals(4, 20e6, 0, 0);
  const auto steady = arrivals(10, 1e6, static_cast<double>(times.back()) + 20e6, 0);
  times.insert(times.end(), steady.begin(), steady.end());
  CHECK(steady_rate(times, 10'000, 80'000'000).rate.value == Approx(1e7));
  CHECK(steady_rate(times, 10'000, 80'000'000).length == 8'000'000);
  CHECK(steady_rate(times, 10'000, 0).rate.value < 0.2e7);
  CHECK(steady_rate(times, 10'000, 0).rate.error > 0.5);
}

TEST_CASE("a stream that ends in its slow start has no steady part") {
  const auto [rate, drift, length] = steady_rate(arrivals(16, 1e6, 0, 0), 10'000, 13'000'000);
  CHECK(length == 0);
  CHECK(rate.value == Approx(1e7));
  CHECK(std::isinf(rate.error));
  CHECK(drift == 0);
}

TEST_CASE("a stream that still changes has a wide interval") {
  std::vector<Nanoseconds> times{0};
  for (int i = 1; i < 32; ++i)
    times.push_back(times.back() + 1'000'000 * (i < 20 ? 4 : 1));
  CHECK(steady_rate(times, 10'000, 0).rate.error > 0.2);
  CHECK(steady_rate(times, 10'000, 0).drift > 0.2);
  CHECK(steady_rate(arrivals(32, 1e6, 0, 1e4), 10'000, 0).rate.error < 0.02);
}

TEST_CASE("few arrivals give a rate without an interval, simultaneous ones no infinity") {
  const std::vector<Nanoseconds> four{0, 1000, 2000, 3000};
  CHECK(steady_rate(four, 1000, 0).rate.value == Approx(1e9));
  CHECK(std::isinf(steady_rate(four, 1000, 0).rate.error));
  CHECK(std::isfinite(steady_rate(std::vector<Nanoseconds>(8, 7), 1000, 0).rate.value));
}

TEST_CASE("a stream that was stopped almost at once gives a guess, or nothing") {
  const std::vector<Nanoseconds> two{500, 1500};
  CHECK(steady_rate(two, 1000, 0).rate.value == Approx(1e9));
  for (const std::vector<Nanoseconds>& times : {two, {7, 7}, {7}, {}}) {
    CHECK(std::isfinite(steady_rate(times, 1000, 0).rate.value));
    CHECK(std::isinf(steady_rate(times, 1000, 0).rate.error));
    CHECK(steady_rate(times, 1000, 0).length == 0);
  }
}

TEST_CASE("how messages fall into frames hardly matters") {
  // Frames of 9000 bytes a millisecond: a message is there when the frame with its last byte is.
  for (Size message : {4'000, 10'000, 16'000, 20'000}) {
    CAPTURE(message);
    std::vector<Nanoseconds> times;
    for (Size sent = message; sent <= 250'000; sent += message)
      times.push_back((sent + 8'999) / 9'000 * 1'000'000);
    CHECK(steady_rate(times, message, 0).rate.value == Approx(9e6).epsilon(0.02));
  }
}

TEST_CASE("rates add up while all flows flow") {
  // Two flows of 10 MB/s, the second half a stream later: together 20 MB/s where they overlap.
  const std::vector<FlowArrivals> flows{{arrivals(64, 1e6, 0, 0), 10'000},
                                        {arrivals(64, 1e6, 20e6, 0), 10'000}};
  CHECK(crowd_rates(flows, 5'000'000).together.value() == Approx(2e7));
}

TEST_CASE("flows that never overlap have no rate together") {
  const std::vector<FlowArrivals> flows{{arrivals(8, 1e6, 0, 0), 10'000},
                                        {arrivals(8, 1e6, 1e9, 0), 10'000}};
  CHECK(crowd_rates(flows, 5'000'000).together.value() == 0);
  CHECK(crowd_rates({}, 0).together.value() == 0);
}

TEST_CASE("flows of different rates and message sizes") {
  const std::vector<FlowArrivals> flows{{arrivals(100, 1e6, 0, 0), 10'000},
                                        {arrivals(50, 2e6, 0.5e6, 0), 60'000}};
  CHECK(crowd_rates(flows, 5'000'000).together.value() == Approx(1e7 + 3e7).epsilon(1e-3));
}

TEST_CASE("flows that get faster while they are looked at are told by their growth") {
  std::vector<Nanoseconds> doubling;
  for (double sent = 1; sent <= 256; ++sent) // 256 messages in 8 ms
    doubling.push_back(static_cast<Nanoseconds>(std::log2(sent) * 1e6));
  CHECK(crowd_rates(std::vector<FlowArrivals>{{doubling, 10'000}}, 4'000'000).growth > 3);
  const std::vector<FlowArrivals> steady{{arrivals(64, 1e6, 0, 0), 10'000},
                                         {arrivals(64, 1e6, 0, 0), 60'000}};
  CHECK(crowd_rates(steady, 5'000'000).growth == Approx(1).epsilon(0.05));
}

TEST_CASE("of a long stream's arrivals few are kept, as far apart as they say") {
  for (const std::int64_t messages : {1, 511, 512, 1000, 100'000}) {
    CAPTURE(messages);
    Arrivals kept;
    for (std::int64_t at = 0; at < messages; ++at)
      kept.add(at);
    const std::vector<Nanoseconds>& times = kept.times();
    CHECK(times.size() < Arrivals::most);
    CHECK(std::ssize(times) == (messages + kept.every() - 1) / kept.every());
    for (std::size_t at = 0; at < times.size(); ++at)
      REQUIRE(times[at] == static_cast<Nanoseconds>(at) * kept.every());
    if (messages < 512) CHECK(kept.every() == 1);
  }
}

TEST_CASE("rates of flows of which few messages arrive together") {
  // 1 MB/s in messages of 10 ms, 10 MB/s in messages of 1 ms.
  const std::vector<FlowArrivals> flows{{arrivals(8, 10e6, 3e6, 0), 10'000},
                                        {arrivals(64, 1e6, 0, 0), 10'000}};
  const auto each = crowd_rates(flows, 5'000'000).each;
  CHECK(each[0].value() == Approx(1e6).epsilon(1e-3));
  CHECK(each[1].value() == Approx(1e7).epsilon(1e-3));
}

TEST_CASE("without samples a latency isn't known") {
  const LowQuantile none;
  CHECK(none.estimate().value == 0);
  CHECK(std::isinf(none.estimate().error));
  CHECK(!none.tight(1, 0.5));
}

TEST_CASE("a stream's messages are of some size even if nothing is sent eagerly") {
  for (const Size eager_limit : {0, 1, 512, 4096, 1 << 20}) {
    const auto pace = pace_for(1e6, eager_limit);
    CHECK(pace.size > 0);
    CHECK(pace.count * pace.size >= 1'000'000);
    CHECK(pace.count < 2000);
  }
  CHECK(pace_for(1e6, 512).size == 512);
  CHECK(pace_for(1e6, 16).size == pace_for(1e6, 1 << 20).size); // Few wait at the same time.
}
