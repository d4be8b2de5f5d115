#include "runtime/adapt/arrivals.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <random>
#include <vector>

using namespace thalweg;
using collective::Kind;
using runtime::Arrivals;

TEST_CASE("a broadcast after a gather of the same root tells that all have entered the gather") {
  Arrivals arrivals;
  CHECK(arrivals.calls_ago(3) == 3);
  arrivals.count(4, Kind::gather, 2, false, true);
  CHECK(arrivals.calls_ago(4) == 4);
  arrivals.count(5, Kind::bcast, 1, false, true);
  CHECK(arrivals.calls_ago(5) == 5);
  arrivals.count(6, Kind::scatter, 2, false, true);
  CHECK(arrivals.calls_ago(6) == 2);
  arrivals.count(7, Kind::barrier, 0, true, false);
  arrivals.count(9, Kind::reduce, 2, false, false); // of no data
  arrivals.count(10, Kind::bcast, 2, false, true);
  CHECK(arrivals.calls_ago(10) == 3);
}

TEST_CASE("no rank is taken to have entered a call that it hasn't") {
  constexpr int ranks = 5, calls = 400;
  const std::vector kinds = {Kind::bcast, Kind::scatter, Kind::gather, Kind::reduce, Kind::barrier};
  std::mt19937 random(1);
  const auto drawn = [&](int most) { return std::uniform_int_distribution(0, most)(random); };
  std::vector<Arrivals> all(ranks);
  std::vector<double> now(ranks); // when each rank enters its next call
  std::vector<std::vector<double>> entered;
  std::size_t known = 0;
  for (std::uint64_t call = 1; call <= calls; ++call) {
    const Kind kind = kinds[static_cast<std::size_t>(drawn(4))];
    const int root = drawn(1);
    const bool has_data = drawn(9) > 0;
    for (double& each : now)
      each += drawn(100);
    entered.push_back(now);
    const double last = std::ranges::max(now);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const bool is_root = static_cast<int>(rank) == root;
      const bool waits =
          kind == Kind::barrier || (has_data && (begins_at_root(kind) ? !is_root : is_root));
      const double source =
          begins_at_root(kind) ? entered.back()[static_cast<std::size_t>(root)] : last;
      if (waits) now[rank] = std::max(now[rank], source);
      all[rank].count(call, kind, root, kind == Kind::barrier, has_data);
      const std::uint64_t ago = all[rank].calls_ago(call);
      CHECK(ago == all[0].calls_ago(call));
      if (ago >= call) continue;
      ++known;
      CHECK(std::ranges::max(entered[call - ago - 1]) <= now[rank]);
    }
  }
  CHECK(known > calls);
}
