#include "unit/runtime/racing_program.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <random>

using namespace thalweg;
using collective::Kind;
using runtime::Candidate;
using runtime::Race;
using runtime::Races;
using test::RacingProgram;

namespace {

constexpr units::Size short_size = 33'000, long_size = 63'000; // of one class
constexpr double short_ns = 1'000'000, long_ns = 1'900'000;

/// Calls of two sizes, so many of each in a row, which take 2 % more at random.
class TwoSizes {
public:
  TwoSizes(std::uint64_t in_a_row, std::uint64_t seed)
      : _in_a_row(in_a_row), _random(seed), _shift(_random() % (2 * in_a_row)) {}
  [[nodiscard]] units::Size size(std::uint64_t call) const {
    return (call + _shift) / _in_a_row % 2 == 0 ? short_size : long_size;
  }
  double planned_ns(std::uint64_t call) {
    const double noise = 0.02 * static_cast<double>(_random() % 1000) / 1000;
    return (size(call) == short_size ? short_ns : long_ns) * (1 + noise);
  }

private:
  std::uint64_t _in_a_row;
  std::mt19937_64 _random;
  std::uint64_t _shift;
};

} // namespace

TEST_CASE("calls of two sizes of a class in turn leave the plan where it is faster for both") {
  for (const std::uint64_t in_a_row : {1, 2, 3, 4, 5, 6, 8, 12})
    for (const double native_times : {1.15, 1.3, 1.5})
      for (std::uint64_t seed = 0; seed < 10; ++seed) {
        CAPTURE(in_a_row);
        CAPTURE(native_times);
        CAPTURE(seed);
        TwoSizes sizes(in_a_row, seed);
        double all_planned_ns = 0;
        RacingProgram program([&](Candidate candidate, std::uint64_t call) {
          const double ns = sizes.planned_ns(call);
          all_planned_ns += ns;
          return static_cast<std::int64_t>(ns *
                                           (candidate == Candidate::native ? native_times : 1));
        });
        program.size = [&](std::uint64_t call) { return sizes.size(call); };
        program.facts.predicted_native_ns = static_cast<std::int64_t>(native_times * short_ns);
        program.run(3'000);
        CHECK(std::ranges::none_of(program.races.all(), [](const Race& race) {
          return race.incumbent() == Candidate::native;
        }));
        CHECK(static_cast<double>(program.now_ns) < 1.021 * all_planned_ns); // 2 %, and the noise
      }
}

TEST_CASE("each of two sizes of a class has its own winner") {
  TwoSizes sizes(4, 1);
  RacingProgram program([&](Candidate candidate, std::uint64_t call) {
    const bool is_slow = (candidate == Candidate::native) == (sizes.size(call) == short_size);
    return static_cast<std::int64_t>(sizes.planned_ns(call) * (is_slow ? 1.5 : 1));
  });
  program.size = [&](std::uint64_t call) { return sizes.size(call); };
  program.facts.predicted_native_ns = 1'500'000;
  program.run(3'000);
  const auto key = [](units::Size size) { return runtime::key_of(Kind::allreduce, 0, size); };
  REQUIRE(program.races.all().size() == 2);
  CHECK(program.races.find(key(short_size))->incumbent() == Candidate::plan);
  CHECK(program.races.find(key(long_size))->incumbent() == Candidate::native);
}

TEST_CASE("sizes of a band differ by less than a sixteenth, and those up to 31 not at all") {
  units::Size begin = 0;
  for (units::Size size = 1; size < 100'000; ++size) {
    const runtime::RaceKey key = runtime::key_of(Kind::bcast, 0, size);
    if (size < 32) CHECK(key.band == size);
    if (key.band == size) begin = size; // the next band
    REQUIRE(key.band == begin);
    REQUIRE(size <= key.most_size());
    REQUIRE(runtime::key_of(Kind::bcast, 0, key.most_size() + 1).band == key.most_size() + 1);
    REQUIRE(16 * (key.most_size() - key.band) < key.band);
    REQUIRE(key.class_begin() <= size);
    REQUIRE(size < 2 * key.class_begin());
  }
  CHECK(runtime::key_of(Kind::bcast, 0, 0).most_size() == 0);
}

TEST_CASE("a race begins with what won the nearest one of its class") {
  const auto key = [](units::Size size) { return runtime::key_of(Kind::bcast, 0, size); };
  Races races({{key(1'000), Candidate::native}, {key(600), Candidate::second}});
  const auto begins_with = [&](units::Size size, runtime::Candidates candidates) {
    return races.add(key(size), 1, candidates, false)->incumbent();
  };
  CHECK(begins_with(1'000, {true, true}) == Candidate::native);
  CHECK(begins_with(950, {true, true}) == Candidate::native);
  CHECK(begins_with(640, {true, true}) == Candidate::second);
  CHECK(begins_with(560, {true, false}) == Candidate::plan);  // has no second plan
  CHECK(begins_with(1'100, {true, true}) == Candidate::plan); // another class
}

TEST_CASE("where one plan changes, what native has won elsewhere stays") {
  TwoSizes sizes(1, 1);
  RacingProgram program([&](Candidate candidate, std::uint64_t call) {
    return static_cast<std::int64_t>(sizes.planned_ns(call) *
                                     (candidate == Candidate::native ? 0.5 : 1));
  });
  program.size = [&](std::uint64_t call) { return sizes.size(call); };
  program.run(1'000);
  const auto incumbent = [&](units::Size size) {
    return program.races.find(runtime::key_of(Kind::allreduce, 0, size))->incumbent();
  };
  REQUIRE(incumbent(short_size) == Candidate::native);
  REQUIRE(incumbent(long_size) == Candidate::native);
  program.races.restart(true, [](const runtime::RaceKey& key) { return key.band > 40'000; });
  CHECK(incumbent(short_size) == Candidate::native);
  CHECK(incumbent(long_size) == Candidate::plan);
  program.run(1'000);
  CHECK(incumbent(long_size) == Candidate::native);
  program.races.restart(true);
  CHECK(incumbent(short_size) == Candidate::plan);
}
