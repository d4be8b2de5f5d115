#include "runtime/observe/clock_history.hpp"

#include <cstdint>
#include <doctest/doctest.h>
#include <vector>

using namespace thalweg::runtime::observe;

TEST_CASE("only rank 0 keeps all hosts' clock readings, and all ranks count alike") {
  ClockHistory first, other;
  for (std::int64_t number = 0; number < 100; ++number) {
    const std::vector<ClockReading> readings = {{.at_ns = number},
                                                {.at_ns = number, .offset_ns = 7, .error_ns = 2},
                                                {.at_ns = number, .offset_ns = 9, .error_ns = 5}};
    first.add(readings, 0, true);
    other.add(readings, 1, false);
    REQUIRE(first.latest().at_ns == number);
    REQUIRE(other.latest().at_ns == number);
    CHECK(first.thin_out() == other.thin_out());
    REQUIRE(first.size() == other.size());
    REQUIRE(first.size() == first.all().size());
    REQUIRE(first.size() < ClockHistory::most);
  }
  CHECK(other.all().empty());
  CHECK(other.first().at_ns == 0);
  CHECK(other.first().offset_ns == 7);
  CHECK(other.largest_error_ns() == 5);
  CHECK(first.all().front().back().at_ns == 0);
  CHECK(first.all().front().back().offset_ns == 9);
}
