#include "planner/bytes.hpp"
#include "runtime/setup/tables.hpp"

#include <doctest/doctest.h>

namespace thalweg::runtime {
namespace {

using network::Placement;

/// A table of so many rows, as bytes.
std::string table_of(int rows) {
  planner::Table table;
  table.placement = {0, 1};
  for (int row = 0; row < rows; ++row) {
    planner::Entry entry;
    entry.min_size = row;
    table.entries.push_back(entry);
  }
  const auto bytes = planner::to_bytes(table);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Placement placement_of(int number) { return {number, number + 1}; }

TEST_CASE("tables that nobody asks for are dropped") {
  const planner::PlanFile plan;
  Tables tables(0);
  const std::string bytes = table_of(1000);
  const int most = static_cast<int>(Tables::most_bytes / bytes.size());
  REQUIRE(most > 2);
  const auto first = tables.add(placement_of(0), bytes, 0);
  for (int number = 1; number < most; ++number)
    tables.add(placement_of(number), bytes, 0);
  CHECK(tables.known(placement_of(0), plan).table == first);
  tables.add(placement_of(most), bytes, 0);
  CHECK(tables.known(placement_of(0), plan).table == first);
  CHECK(tables.known(placement_of(1), plan).table == nullptr);
  CHECK(tables.known(placement_of(most), plan).table != nullptr);
  // One more of the same placement takes no room of others.
  tables.add(placement_of(most), bytes, 0);
  CHECK(tables.known(placement_of(2), plan).table != nullptr);
}

TEST_CASE("a table that is larger than the room is kept alone") {
  const planner::PlanFile plan;
  Tables tables(0);
  tables.add(placement_of(0), table_of(10), 0);
  const std::string large = table_of(100'000);
  REQUIRE(large.size() > Tables::most_bytes);
  const auto kept = tables.add(placement_of(1), large, 0);
  CHECK(tables.known(placement_of(1), plan).table == kept);
  CHECK(tables.known(placement_of(0), plan).table == nullptr);
}

} // namespace
} // namespace thalweg::runtime
