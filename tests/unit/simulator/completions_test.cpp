#include "simulator/completions.hpp"

#include <doctest/doctest.h>
#include <map>
#include <random>

using namespace thalweg::simulator;

TEST_CASE("the first completion is the earliest of all that were set and not removed") {
  constexpr ConnectionId connections = 50;
  std::mt19937 random(1); // NOLINT(*-msc51-cpp): repeatable
  Completions completions(connections);
  std::map<ConnectionId, double> expected;
  const auto draw = [&](int below) {
    return std::uniform_int_distribution<>(0, below - 1)(random);
  };
  for (int step = 0; step < 5000; ++step) {
    const ConnectionId connection = draw(connections);
    if (expected.contains(connection) && draw(3) == 0) {
      completions.remove(connection);
      expected.erase(connection);
    } else {
      const double time = draw(20); // some are equal
      completions.set(connection, time);
      expected[connection] = time;
    }
    REQUIRE(completions.empty() == expected.empty());
    if (expected.empty()) continue;
    auto first = expected.begin();
    for (auto each = first; each != expected.end(); ++each)
      if (each->second < first->second) first = each;
    CHECK(completions.first().connection == first->first);
    CHECK(completions.first().time == first->second);
  }
}
