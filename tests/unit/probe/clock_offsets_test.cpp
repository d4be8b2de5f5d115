#include "probe/clock_offsets.hpp"

#include <doctest/doctest.h>
#include <random>

using namespace thalweg;
using probe::clock_offsets;
using probe::Meeting;
using probe::Nanoseconds;
using probe::Round;

TEST_CASE("offsets add up along the path with the shortest round trips") {
  // From 0 to 2 directly with an error of 40, or over 1 with one of at most 3.
  const std::vector<Meeting> meetings = {{{0, 2}, 1040, 100}, {{1, 0}, -600, 3}, {{1, 2}, 400, 3}};
  const auto offsets = clock_offsets(4, meetings);
  CHECK(offsets[0] == 0);
  CHECK(offsets[1] == 600);
  CHECK(offsets[2] == 1000);
  CHECK(!offsets[3]);
}

TEST_CASE("hosts that met nobody are aligned in rounds that double the known ones") {
  for (const int hosts : {2, 3, 7, 16, 100}) {
    CAPTURE(hosts);
    auto offsets = clock_offsets(static_cast<std::size_t>(hosts), {});
    int rounds = 0;
    for (Round round; !(round = probe::next_to_align(offsets)).empty(); ++rounds) {
      std::vector<bool> busy(offsets.size());
      for (const auto [known, other] : round) {
        CHECK(offsets[static_cast<std::size_t>(known)].has_value());
        CHECK(!offsets[static_cast<std::size_t>(other)]);
        for (const auto host : {known, other}) {
          CHECK(!busy[static_cast<std::size_t>(host)]);
          busy[static_cast<std::size_t>(host)] = true;
        }
      }
      for (const auto [known, other] : round)
        offsets[static_cast<std::size_t>(other)] = Nanoseconds{other};
    }
    CHECK((1 << rounds) < 2 * hosts);
    for (const auto& offset : offsets)
      CHECK(offset.has_value());
  }
}
