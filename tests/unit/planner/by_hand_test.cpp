#include "algorithms/trees/declared_tree.hpp"
#include "networks.hpp"
#include "planner/by_hand.hpp"

#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <stdexcept>

namespace thalweg::planner {
namespace {

using namespace testing;

const Parameters tree = algorithms::parse_tree("ranks 4\nsegment_size 4KB\n0: 1 2\n2: 3\n");

/// What a table says of sizes around the edges.
std::vector<std::string> algorithms_at(const Table& table, Kind kind, Rank root,
                                       std::initializer_list<Size> sizes) {
  std::vector<std::string> found;
  for (const Size size : sizes) {
    const std::shared_ptr<const Entry> entry = table.find(kind, root, size);
    found.push_back(!entry || entry->native ? "native" : entry->skeleton.algorithm);
  }
  return found;
}

TEST_CASE("a tree by hand takes the rows of its sizes, whatever the root") {
  const Network net = two_sites(2);
  const std::array kinds = {Kind::bcast, Kind::allreduce};
  const Table before = make_table(net, one_each(4), kinds, openmpi(), 1'000'000);
  Table table = before;
  put_tree(table, net, Kind::bcast, tree, 10'000, 100'000, openmpi());
  const std::initializer_list<Size> outside = {1, 9'999, 100'000, 5'000'000};
  const std::initializer_list<Size> inside = {10'000, 50'000, 99'999};
  for (Rank root = 0; root < 4; ++root) {
    CAPTURE(root);
    CHECK(algorithms_at(table, Kind::bcast, root, outside) ==
          algorithms_at(before, Kind::bcast, root, outside));
    CHECK(algorithms_at(table, Kind::bcast, root, inside) ==
          std::vector<std::string>{"tree", "tree", "tree"});
    const std::shared_ptr<const Entry> entry = table.find(Kind::bcast, root, 10'000);
    CHECK(entry->skeleton.root == root);
    CHECK(entry->skeleton.parents.front()[static_cast<std::size_t>(root)] == collective::no_rank);
    CHECK(entry->times.size() == 2);
    for (const PredictedTimes& times : entry->times) {
      CHECK(times.plan_ns > 0);
      CHECK(times.plan_ns >= times.bound_ns);
    }
    for (const Size size : inside)
      CHECK(table.predict(Kind::bcast, root, size).plan_ns > 0);
    CHECK(table.find(Kind::allreduce, 0, 50'000)->skeleton ==
          before.find(Kind::allreduce, 0, 50'000)->skeleton);
  }
  CHECK(table_from_bytes(to_bytes(table)) == table);
}

TEST_CASE("a tree for all sizes leaves the row for unknown ones") {
  const Network net = with_slow_native(two_sites(2));
  const std::array kinds = {Kind::gather};
  const Table before = make_table(net, one_each(4), kinds, openmpi(), 1'000'000);
  Table table = before;
  put_tree(table, net, Kind::gather, tree, 0, Size{1} << 40, openmpi());
  for (Rank root = 0; root < 4; ++root) {
    CHECK(table.find(Kind::gather, root, unknown_size)->skeleton ==
          before.find(Kind::gather, root, unknown_size)->skeleton);
    CHECK(algorithms_at(table, Kind::gather, root, {1, 100'000}) ==
          std::vector<std::string>{"tree", "tree"});
  }
}

TEST_CASE("a collective without rows is native but for the tree's sizes") {
  const Network net = two_sites(2);
  Table table{one_each(4), {}};
  put_tree(table, net, Kind::reduce, tree, 100, 200, openmpi());
  for (Rank root = 0; root < 4; ++root)
    CHECK(algorithms_at(table, Kind::reduce, root, {99, 100, 199, 200}) ==
          std::vector<std::string>{"native", "tree", "tree", "native"});
}

TEST_CASE("a tree for one root leaves the others' rows") {
  const Network net = two_sites(2);
  const std::array kinds = {Kind::bcast};
  const Table before = make_table(net, one_each(4), kinds, openmpi(), 1'000'000);
  Table table = before;
  put_tree(table, net, Kind::bcast, tree, 10'000, 100'000, openmpi(), 2);
  const std::initializer_list<Size> sizes = {1, 10'000, 99'999, 100'000};
  for (const Rank root : {0, 1, 3})
    CHECK(algorithms_at(table, Kind::bcast, root, sizes) ==
          algorithms_at(before, Kind::bcast, root, sizes));
  CHECK(algorithms_at(table, Kind::bcast, 2, {10'000, 99'999}) ==
        std::vector<std::string>{"tree", "tree"});
  CHECK_THROWS_WITH_AS(put_tree(table, net, Kind::bcast, tree, 1, 2, openmpi(), 4),
                       doctest::Contains("no root 4 among 4 ranks"), std::invalid_argument);
}

TEST_CASE("a tree for the first rank of a host leaves the rows of the others there") {
  const Network net = two_sites(2);
  const std::array kinds = {Kind::bcast};
  const Table before = make_table(net, {1, 1, 3, 3}, kinds, openmpi(), 1'000'000);
  for (const Rank root : {0, 1}) {
    Table table = before;
    put_tree(table, net, Kind::bcast, tree, 10'000, 100'000, openmpi(), root);
    for (const Rank each : {0, 1, 2, 3})
      for (const Size size : {1, 10'000, 99'999, 100'000}) {
        const bool is_inside = each == root && size >= 10'000 && size < 100'000;
        CHECK(table.find(Kind::bcast, each, size)->native ==
              (!is_inside && before.find(Kind::bcast, each, size)->native));
        CHECK(algorithms_at(table, Kind::bcast, each, {size}) ==
              (is_inside ? std::vector<std::string>{"tree"}
                         : algorithms_at(before, Kind::bcast, each, {size})));
      }
  }
}

TEST_CASE("a tree is re-rooted for every rank of a host, and the rows above its sizes stay") {
  const Network net = two_sites(2);
  std::vector<Kind> kinds(collective::kinds.begin(), collective::kinds.end());
  const network::Placement placement = {0, 0, 1, 1};
  const Table before = make_table(net, placement, kinds, openmpi(), 1'000'000);
  for (const Kind kind : {Kind::bcast, Kind::scatter}) {
    Table table = before;
    put_tree(table, net, kind, tree, 10'000, 100'000, openmpi());
    CHECK(std::ranges::is_sorted(table.entries, {}, [](const Entry& entry) {
      return std::tuple(entry.kind, entry.root, entry.min_size);
    }));
    for (Rank root = 0; root < 4; ++root) {
      const auto own = table.find(kind, root, 20'000);
      const Problem rooted = algorithms::make_problem(
          {.kind = kind, .ranks = 4, .root = root, .size = 20'000}, net, placement, "openmpi");
      CHECK(own->skeleton.parents ==
            algorithms::make_skeleton(algorithms::find("tree"), rooted, tree).parents);
      CHECK(table.find(kind, root, 100'000)->skeleton ==
            before.find(kind, root, 100'000)->skeleton);
    }
  }
}

TEST_CASE("a tree for the first rank of a host without rows isn't the others'") {
  const Network net = two_sites(2);
  Table table{{1, 1, 3, 3}, {}};
  put_tree(table, net, Kind::bcast, tree, 100, 200, openmpi(), 0);
  CHECK(algorithms_at(table, Kind::bcast, 0, {99, 100, 200}) ==
        std::vector<std::string>{"native", "tree", "native"});
  for (const Rank root : {1, 2, 3})
    CHECK(algorithms_at(table, Kind::bcast, root, {99, 100, 200}) ==
          std::vector<std::string>{"native", "native", "native"});
}

TEST_CASE("a tree that doesn't fit is refused") {
  const Network net = two_sites(2);
  Table table{one_each(4), {}}, small{{0, 1, 2}, {}};
  CHECK_THROWS_WITH_AS(put_tree(table, net, Kind::bcast, tree, 200, 200, openmpi()),
                       doctest::Contains("give the smaller one first"), std::invalid_argument);
  CHECK_THROWS_AS(put_tree(table, net, Kind::scan, tree, 1, 2, openmpi()), std::invalid_argument);
  CHECK_THROWS_WITH_AS(put_tree(small, net, Kind::bcast, tree, 1, 2, openmpi()),
                       doctest::Contains("the tree is for 4 ranks"), std::invalid_argument);
}

TEST_CASE("a tree of very many segments is predicted as far as it can be simulated") {
  const Network net = two_sites(2);
  const std::array kinds = {Kind::bcast};
  Table table = make_table(net, one_each(4), kinds, openmpi(), 1'000'000);
  Parameters fine = tree;
  fine.segment_size = 1;
  put_tree(table, net, Kind::bcast, fine, 10'000, Size{1} << 40, openmpi());
  const std::shared_ptr<const Entry> entry = table.find(Kind::bcast, 0, 10'000);
  REQUIRE(entry->times.size() == 2);
  CHECK(entry->times.back().size > 1'000'000);
  CHECK(entry->times.back().size < Size{1} << 27);
}

} // namespace
} // namespace thalweg::planner
