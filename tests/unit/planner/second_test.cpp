#include "../algorithms/networks.hpp"
#include "networks.hpp"
#include "planner/table.hpp"

#include <array>
#include <doctest/doctest.h>

using namespace thalweg;
using namespace thalweg::planner;
using namespace thalweg::planner::testing;

namespace {

constexpr std::array kinds_with_seconds = {Kind::bcast, Kind::allreduce, Kind::allgather};
constexpr Size vector_size = 50'000;

/// Returns the row of a bcast of `vector_size`, where native's measured time over the plan's
/// predicted one is `times_as_long`.
Entry row_where_native_takes(double times_as_long) {
  const Plan best =
      plan(problem(with_slow_native(two_sites(2)), Kind::bcast, vector_size), openmpi());
  const Network net = with_native(two_sites(2), best.predicted * times_as_long);
  const Table table =
      make_table(net, one_each(4), std::array{Kind::bcast}, openmpi(), 2 * vector_size);
  return *table.find(Kind::bcast, 0, vector_size);
}

} // namespace

TEST_CASE("rows have a second plan of another algorithm that is about as fast") {
  const Network net = with_slow_native(two_sites(3));
  const Table table = make_table(net, one_each(6), kinds_with_seconds, openmpi(), 1'000'000);
  int seconds = 0, other_roots = 0;
  for (const Entry& entry : table.entries) {
    if (!entry.second || entry.native) continue;
    CAPTURE(to_text(entry.kind));
    CAPTURE(entry.second->algorithm);
    CHECK(entry.second->algorithm != entry.skeleton.algorithm);
    CHECK(entry.second->root == entry.root);
    ++seconds;
    if (entry.root != 0) ++other_roots;
  }
  CHECK(seconds > 3);
  CHECK(other_roots > 0);
  CHECK(table_from_bytes(to_bytes(table)) == table);
}

TEST_CASE("quick tables have no second plans") {
  const Network net = with_slow_native(two_sites(3));
  for (const Entry& entry : quick_table(net, one_each(6), openmpi()).entries)
    CHECK(!entry.second);
}

TEST_CASE("where native is planned, a plan that may be faster is the second one") {
  int seconds = 0;
  for (double times_as_long = 1; times_as_long < 2; times_as_long += 0.1) {
    const Entry row = row_where_native_takes(times_as_long);
    if (!row.native || !row.second) continue;
    CHECK(row.second->ranks == 4);
    ++seconds;
  }
  CHECK(seconds > 0);
  const Entry faster = row_where_native_takes(0.5);
  CHECK(faster.native);
  CHECK(!faster.second);
  CHECK(!row_where_native_takes(30).native);
}
