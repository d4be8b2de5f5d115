#include "schedule/schedule.hpp"

#include <doctest/doctest.h>
#include <numeric>
#include <random>
#include <stdexcept>

namespace thalweg::schedule {
namespace {

__extension__ using Wide = __int128;

/// ⌊total · part / whole⌋ in wide integers.
std::int64_t share(std::int64_t total, std::int64_t part, std::int64_t whole) {
  return static_cast<std::int64_t>(Wide{total} * part / whole);
}

/// All intervals, [segment][chunk], from the definition.
std::vector<std::vector<Interval>> reference(std::int64_t total, std::int32_t segments,
                                             const std::vector<std::int32_t>& weights) {
  std::vector<std::vector<Interval>> result;
  const std::int64_t whole = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  for (std::int32_t s = 0; s < segments; ++s) {
    const std::int64_t begin = share(total, s, segments), end = share(total, s + 1, segments);
    auto& row = result.emplace_back();
    std::int64_t sum = 0;
    for (const std::int32_t weight : weights) {
      const std::int64_t first = begin + share(end - begin, sum, whole);
      sum += weight;
      row.push_back({first, begin + share(end - begin, sum, whole)});
    }
  }
  return result;
}

struct Case {
  std::int64_t total;
  std::int32_t segments;
  std::vector<std::int32_t> weights;
};

Case random_case(std::mt19937_64& random) {
  const auto up_to = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random);
  };
  Case c{up_to(1) == 0 ? up_to(100) : up_to(std::int64_t{1} << 40),
         static_cast<std::int32_t>(1 + up_to(20)),
         {}};
  const std::int64_t heaviest = up_to(1) == 0 ? 5 : (std::int64_t{1} << 31) / 20 - 1;
  for (std::int64_t i = 0, n = 1 + up_to(18); i < n; ++i)
    c.weights.push_back(static_cast<std::int32_t>(up_to(heaviest)));
  c.weights.front() += 1; // a sum of zero is no layout
  return c;
}

} // namespace

TEST_CASE("a layout agrees with its definition and covers every unit once") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    const Case c = random_case(random);
    const auto chunks = static_cast<ChunkId>(c.weights.size());
    const Layout layout(c.total, c.segments, chunks, c.weights);
    const auto expected = reference(c.total, c.segments, c.weights);
    std::int64_t end = 0;
    for (std::int32_t s = 0; s < c.segments; ++s)
      for (ChunkId chunk = 0; chunk < chunks; ++chunk) {
        const Interval interval = layout.interval(s, chunk);
        REQUIRE(interval == expected[static_cast<std::size_t>(s)][static_cast<std::size_t>(chunk)]);
        REQUIRE(interval.begin == end);
        REQUIRE(interval.size() >= 0);
        end = interval.end;
      }
    REQUIRE(end == c.total);
  }
}

TEST_CASE("every chunk has its share of its segment, rounded down or up") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 500; ++round) {
    const Case c = random_case(random);
    const auto chunks = static_cast<ChunkId>(c.weights.size());
    const Layout layout(c.total, c.segments, chunks, c.weights);
    const std::int64_t whole = std::accumulate(c.weights.begin(), c.weights.end(), std::int64_t{0});
    for (std::int32_t s = 0; s < c.segments; ++s) {
      const std::int64_t units = layout.interval(s, 0, chunks).size();
      REQUIRE(units >= c.total / c.segments);
      REQUIRE(units <= c.total / c.segments + 1);
      for (ChunkId chunk = 0; chunk < chunks; ++chunk) {
        const std::int64_t rounded_down =
            share(units, c.weights[static_cast<std::size_t>(chunk)], whole);
        REQUIRE(layout.interval(s, chunk).size() >= rounded_down);
        REQUIRE(layout.interval(s, chunk).size() <= rounded_down + 1);
      }
    }
  }
}

TEST_CASE("no weights are equal weights") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    Case c = random_case(random);
    const auto chunks = static_cast<ChunkId>(c.weights.size());
    c.weights.assign(c.weights.size(), 7);
    const Layout equal(c.total, c.segments, chunks),
        weighted(c.total, c.segments, chunks, c.weights);
    for (std::int32_t s = 0; s < c.segments; ++s)
      for (ChunkId first = 0; first < chunks; ++first)
        for (ChunkId count = 0; count <= chunks - first; ++count)
          REQUIRE(equal.interval(s, first, count) == weighted.interval(s, first, count));
  }
}

TEST_CASE("adjacent chunks are one interval") {
  const std::vector<std::int32_t> weights{3, 0, 5, 2};
  const Layout layout(1000, 3, 4, weights);
  for (ChunkId first = 0; first < 4; ++first)
    for (ChunkId count = 1; count <= 4 - first; ++count)
      CHECK(layout.interval(1, first, count) ==
            Interval{layout.interval(1, first).begin, layout.interval(1, first + count - 1).end});
}

TEST_CASE("blocks keep exact boundaries, however they are cut into parts") {
  const std::int64_t size = 1001; // of a block; 4 parts don't divide it
  const Layout layout(size * 6, 1, 6 * 4, {}, 6);
  for (ChunkId block = 0; block < 6; ++block)
    CHECK(layout.interval(0, block * 4, 4) == Interval{block * size, (block + 1) * size});
}

TEST_CASE("blocks of any sizes are cut into segments and parts each on its own") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0, n = 1 + random() % 6; i < n; ++i)
      sizes.push_back(static_cast<std::int64_t>(random() % 40));
    const auto segments = static_cast<std::int32_t>(1 + random() % 4);
    std::vector<std::int32_t> weights;
    for (std::size_t i = 0, n = 1 + random() % 3; i < n; ++i)
      weights.push_back(static_cast<std::int32_t>(1 + random() % 5));
    const auto parts = static_cast<ChunkId>(weights.size());
    const auto blocks = static_cast<ChunkId>(sizes.size());
    const Layout layout(sizes, segments, blocks * parts, weights);
    std::int64_t begin = 0;
    for (ChunkId block = 0; block < blocks; ++block) {
      const std::int64_t size = sizes[static_cast<std::size_t>(block)];
      const Layout alone(size, segments, parts, weights);
      for (std::int32_t s = 0; s < segments; ++s)
        for (ChunkId part = 0; part < parts; ++part) {
          const Interval expected = alone.interval(s, part);
          REQUIRE(layout.interval(s, block * parts + part) ==
                  Interval{begin + expected.begin, begin + expected.end});
        }
      begin += size;
    }
    REQUIRE(layout.total() == begin);
    std::int64_t sum = 0;
    for (std::int32_t s = 0; s < segments; ++s)
      layout.for_each_interval(s, {0, layout.chunks(), 1},
                               [&](Interval interval) { sum += interval.size(); });
    REQUIRE(sum == begin);
  }
}

TEST_CASE("extreme layouts don't overflow") {
  const std::int64_t total = std::int64_t{1} << 62;
  const std::int32_t most = 2147483647;
  const Layout layout(total, most, most);
  CHECK(layout.interval(most - 1, most - 1).end == total);
  CHECK(layout.interval(0, 0).begin == 0);
}

TEST_CASE("as many blocks as an alltoall of 100,000 ranks has") {
  const ChunkId blocks = ChunkId{100'000} * 100'000;
  for (const std::int64_t total : {blocks * 8, (std::int64_t{1} << 62) + 12345}) {
    const Layout layout(total, 1, 3 * blocks, {}, blocks);
    for (const ChunkId block : {ChunkId{0}, ChunkId{1}, blocks / 3, blocks - 2, blocks - 1})
      CHECK(layout.interval(0, 3 * block, 3) ==
            Interval{share(total, block, blocks), share(total, block + 1, blocks)});
  }
}

TEST_CASE("what is no layout is refused") {
  CHECK_THROWS_AS(Layout(-1, 1, 1), std::invalid_argument);
  CHECK_THROWS_AS(Layout(1, 0, 1), std::invalid_argument);
  CHECK_THROWS_AS(Layout(1, 1, 0), std::invalid_argument);
  const std::vector<std::int32_t> negative{1, -1}, zero{0, 0}, huge{2147483647, 1}, one{1};
  for (const auto& weights : {negative, zero, huge, one})
    CHECK_THROWS_AS(Layout(1, 1, 2, weights), std::invalid_argument);
  CHECK_THROWS_AS(Schedule(1, {0, 1}, Sink()), std::invalid_argument);
  CHECK_THROWS_AS(Schedule(1, {1, 0}, Sink()), std::invalid_argument);
  CHECK_THROWS_AS(Schedule(0, {1, 1}, Sink()), std::invalid_argument);
}

} // namespace thalweg::schedule
