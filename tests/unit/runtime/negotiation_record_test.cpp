#include "runtime/setup/negotiation_record.hpp"

#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <limits>
#include <optional>
#include <random>

namespace thalweg::runtime {
namespace {

TEST_CASE("ranks know the same table only if all have one and their checksums are equal") {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 1000; ++trial) {
    const std::array<std::uint64_t, 2> tables = {random(), random()};
    std::array<std::optional<std::uint64_t>, 3> known;
    for (auto& rank : known)
      if (const auto drawn = random() % 5; drawn > 0) rank = tables[drawn == 1 ? 1 : 0];
    NegotiationRecord all;
    all.values.fill(std::numeric_limits<std::int64_t>::min());
    for (const auto& rank : known) {
      NegotiationRecord own;
      own[NegotiationRecord::lacking] = rank ? 0 : 1;
      own.set_checksum(rank.value_or(0));
      std::ranges::transform(all.values, own.values, all.values.begin(), std::ranges::max);
    }
    const bool same = known[0] && known[0] == known[1] && known[1] == known[2];
    CHECK(all.all_know_the_same() == same);
  }
}

} // namespace
} // namespace thalweg::runtime
