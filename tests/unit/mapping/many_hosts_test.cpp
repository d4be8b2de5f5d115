#include "mapping/collectives.hpp"
#include "mapping/mapping.hpp"
#include "mapping/planned.hpp"
#include "mapping/scotch.hpp"
#include "mapping/starts.hpp"
#include "problems.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <limits>
#include <numeric>
#include <string_view>

namespace thalweg::mapping {
namespace {

using test::share_of;
using testing::Draw;

constexpr auto every_method = names_of(Method{});

TEST_CASE("what Scotch adds up fits into 32 bits, however many pairs of ranks there are") {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  CHECK(scotch_distance(2'000'000, 90) == 500);
  CHECK(scotch_distance(2'000'000, 0) == 500);
  // All pairs of 2,100 ranks; of 16,384 ranks; more hosts than a search takes at once.
  for (const auto weights :
       std::to_array<std::int64_t>({2'000'000, 4'407'900, 268'419'072, most, most + 1}))
    for (const std::int64_t hosts : {2, 64, 2000, 4096}) {
      const std::int64_t pairs = hosts * (hosts - 1), distance = scotch_distance(weights, pairs);
      CHECK(distance * weights <= most);
      CHECK(distance * pairs <= most);
      CHECK((distance > 0) == (weights <= most));
    }
}

} // namespace
} // namespace thalweg::mapping
