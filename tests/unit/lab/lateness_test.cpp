#include "lab/lateness.hpp"

#include <doctest/doctest.h>
#include <numeric>

using thalweg::lab::Lateness;

TEST_CASE("each lateness is counted once, in the first bucket whose edge it does not exceed") {
  for (const thalweg::lab::Instant late :
       {-5, 0, 1, 999, 1000, 1001, 5000, 123'456, 2'000'000'000}) {
    CAPTURE(late);
    Lateness lateness;
    lateness.add(late);
    const auto& counts = lateness.counts();
    REQUIRE(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == 1);
    std::size_t bucket = 0;
    while (counts[bucket] == 0)
      ++bucket;
    CHECK((bucket + 1 == Lateness::buckets ||
           static_cast<double>(late) <= Lateness::upper_edge(bucket)));
    if (bucket > 0) {
      CHECK(static_cast<double>(late) > Lateness::upper_edge(bucket - 1) - 1e-6);
    }
  }
}
