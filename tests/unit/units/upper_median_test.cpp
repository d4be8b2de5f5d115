#include "units/upper_median.hpp"

#include <doctest/doctest.h>

namespace thalweg {
namespace {

TEST_CASE("of an even number of values the median is the upper one") {
  CHECK(upper_median<int>({7}) == 7);
  CHECK(upper_median<int>({9, 2}) == 9);
  CHECK(upper_median<int>({5, 9, 2}) == 5);
  CHECK(upper_median<int>({4, 1, 3, 2}) == 3);
}

} // namespace
} // namespace thalweg
