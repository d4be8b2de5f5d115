#include "probe/rounds.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <set>

using namespace thalweg::probe;

TEST_CASE("rounds are disjoint, and every pair meets exactly once") {
  for (HostId hosts : {0, 1, 2, 3, 4, 5, 8, 13, 16, 31, 128}) {
    CAPTURE(hosts);
    const auto all = rounds(hosts);
    std::set<std::pair<HostId, HostId>> met;
    for (const auto& round : all) {
      std::set<HostId> busy;
      for (auto [first, second] : round) {
        CHECK(first != second);
        CHECK(std::min(first, second) >= 0);
        CHECK(std::max(first, second) < hosts);
        CHECK(busy.insert(first).second);
        CHECK(busy.insert(second).second);
        CHECK(met.insert(std::minmax(first, second)).second);
      }
    }
    CHECK(met.size() == static_cast<std::size_t>(hosts * (hosts - 1) / 2));
  }
}

TEST_CASE("no more rounds than an edge colouring needs") {
  CHECK(rounds(1).empty());
  CHECK(rounds(2).size() == 1);
  CHECK(rounds(5).size() == 5);
  CHECK(rounds(16).size() == 15);
  for (const auto& round : rounds(16))
    CHECK(round.size() == 8);
}

TEST_CASE("rounds of some pairs are disjoint, and each meets once") {
  const std::vector<Pair> pairs{{0, 1}, {1, 0}, {1, 2}, {3, 4}, {4, 0}, {3, 4}, {2, 3}, {5, 6}};
  const auto all = rounds_of(pairs);
  std::set<std::pair<HostId, HostId>> met;
  for (const auto& round : all) {
    std::set<HostId> busy;
    for (const auto [a, b] : round) {
      CHECK(busy.insert(a).second);
      CHECK(busy.insert(b).second);
      CHECK(met.insert(std::minmax(a, b)).second);
    }
  }
  for (const auto [a, b] : pairs)
    CHECK(met.contains(std::minmax(a, b)));
  CHECK(all.size() == 3); // as few as the odd circle 0, 1, 2, 3, 4 needs
  CHECK(rounds_of({}).empty());
}

TEST_CASE("parts of rounds have all pairs in their order, and at most so many") {
  const std::vector<Round> all{{{0, 1}, {2, 3}, {4, 5}}, {{0, 2}, {1, 3}}};
  CHECK(split(all, 3) == all);
  CHECK(split(all, 2) == std::vector<Round>{{{0, 1}, {2, 3}}, {{4, 5}}, {{0, 2}, {1, 3}}});
  CHECK(split(all, 1).size() == 5);
  CHECK(split({}, 1).empty());
}
