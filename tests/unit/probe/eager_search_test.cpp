#include "probe/eager_search.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace thalweg::probe;

TEST_CASE("the eager limit is found, however small it is") {
  for (const Size truth :
       {0, 1, 40, 200, 440, 512, 1000, 1023, 1024, 4096, 65'000, 65'536, 200'000}) {
    int attempts = 0;
    const Size found = find_limit([&](Size size) { return ++attempts, size <= truth; });
    CHECK(found <= truth);
    CHECK(found + std::max(found / 64, finest_limit) >= truth);
    CHECK(above_limit(found) > truth);
    CHECK(attempts <= 11);
  }
}

TEST_CASE("the search for the eager limit ends where all that it tries is eager") {
  CHECK(find_limit([](Size size) {
          CHECK(size <= largest_limit);
          return true;
        }) == largest_limit);
}
