#include "../algorithms/networks.hpp"
#include "algorithms/listed.hpp"
#include "networks.hpp"
#include "planner/bytes.hpp"
#include "planner/judge.hpp"
#include "planner/wisdom.hpp"
#include "unit/share.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <doctest/doctest.h>

using namespace thalweg;
using namespace thalweg::planner;
using namespace thalweg::planner::testing;

namespace {

constexpr std::array two_kinds = {Kind::bcast, Kind::allreduce};

PlanFile small_file() {
  PlanFile file;
  file.network = two_sites(2);
  file.network.native_times = {{"openmpi", "bcast", 1000, Time(0.02)},
                               {"openmpi", "bcast", 1000000, Time(0.3)}};
  file.network.latency_error = network::Matrix<float>(4, 0.05F);
  file.network.measured_at = "2026-01-01T00:00:00Z";
  file.library = "openmpi";
  file.tables.push_back(make_table(file.network, one_each(4), two_kinds, openmpi(), 100000));
  file.tables.push_back(make_table(file.network, {3, 3, 0}, two_kinds, openmpi(), 1000));
  return file;
}

/// The envelope: 8 magic, 4 version, 4 zero, 8 size, 8 checksum.
constexpr std::size_t content_at = 32;

std::vector<std::byte> with_checksum(std::vector<std::byte> bytes) {
  Writer writer;
  writer.put(checksum(std::span(bytes).subspan(content_at)));
  const auto sum = writer.take();
  std::copy(sum.begin(), sum.end(), bytes.begin() + content_at - 8);
  return bytes;
}

} // namespace

TEST_CASE("a plan file keeps a network's blocks, and refuses damaged ones") {
  PlanFile file = small_file();
  file.network.bandwidth.compact(0);
  REQUIRE(!file.network.bandwidth.is_dense());
  file.network.bandwidth.set(0, 3, units::Rate(5e6));
  const std::vector<std::byte> bytes = to_bytes(file);
  const PlanFile read = from_bytes(bytes);
  CHECK(read.network == file.network);
  CHECK(!read.network.bandwidth.is_dense());
  CHECK(read.network.latency.is_dense());
  // Whatever byte is wrong, what is read is a network or an error.
  for (std::size_t at = content_at; at < std::min<std::size_t>(bytes.size(), 600); ++at)
    for (const std::byte wrong : {std::byte{0x7f}, std::byte{0xff}}) {
      std::vector<std::byte> damaged = bytes;
      damaged[at] = wrong;
      try {
        network::validate(from_bytes(with_checksum(damaged)).network);
      } catch (const std::invalid_argument&) {
      }
    }
}

TEST_CASE("a table has a plan for every kind, root and size") {
  const Network net = with_slow_native(two_sites(3));
  const Table table = make_table(net, one_each(6), two_kinds, openmpi(), 10000000);
  CHECK(table.placement == one_each(6));
  CHECK(!table.find(Kind::bcast, 0, 0));
  CHECK(!table.find(Kind::reduce, 0, 1000));
  CHECK(!table.find(Kind::bcast, 6, 1000));
  for (const Size size :
       {Size{1}, Size{2}, Size{1000}, Size{1000000}, Size{10000000}, Size{1} << 40})
    for (const Kind kind : two_kinds)
      for (Rank root = 0; root < 6; ++root) {
        const std::shared_ptr<const Entry> entry = table.find(kind, root, size);
        REQUIRE(entry);
        CHECK(entry->kind == kind);
        CHECK(entry->root == (kind == Kind::bcast ? root : 0));
        CHECK(entry->min_size <= size);
        CHECK(!entry->native);
        CHECK(entry->skeleton.ranks == 6);
        CHECK(entry->skeleton.root == entry->root);
        CHECK(!entry->times.empty());
        for (const PredictedTimes& times : entry->times) {
          CHECK(times.plan_ns >= times.bound_ns);
          CHECK(times.bound_ns > 0);
        }
        const PredictedTimes times = table.predict(kind, root, size);
        CHECK(times.bound_ns > 0);
        CHECK(times.plan_ns >= times.bound_ns);
      }
}

TEST_CASE("where sizes aren't known blocks go directly, and nowhere slower than natively") {
  const Network even = two_sites(3), slow = with_slow_native(two_sites(3));
  for (const Kind kind : {Kind::gather, Kind::scatter, Kind::alltoall}) {
    const Table table = make_table(slow, one_each(6), std::array{kind}, openmpi(), 100000);
    for (Rank root = 0; root < (kind == Kind::alltoall ? 1 : 6); ++root) {
      const std::shared_ptr<const Entry> entry = table.find(kind, root, unknown_size);
      REQUIRE(entry);
      CHECK(entry->min_size == unknown_size);
      CHECK(entry->skeleton.root == root);
      CHECK(entry->skeleton.segment_size == 0);
      CHECK(algorithms::sends_directly({.kind = kind, .ranks = 6, .root = root}, entry->skeleton));
      CHECK(table.find(kind, root, 1)->min_size == 1);
    }
    // Among ranks that differ in nothing native sends directly, too.
    const Table plain = make_table(even, one_each(6), std::array{kind}, openmpi(), 1000);
    for (const Entry& entry : plain.entries)
      if (entry.min_size == unknown_size)
        for (const PredictedTimes& times : entry.times) {
          CHECK(times.plan_ns > 0);
          CHECK(times.plan_ns <= times.native_ns + times.native_ns / 50);
        }
  }
  const Table without = make_table(slow, one_each(6), std::array{Kind::allgather}, openmpi(), 1000);
  CHECK(!without.find(Kind::allgather, 0, unknown_size));
}

TEST_CASE("rows ascend and differ from their neighbours") {
  const Network net = with_slow_native(two_sites(3));
  const Table table = make_table(net, one_each(6), two_kinds, openmpi(), 1000000);
  for (std::size_t i = 1; i < table.entries.size(); ++i) {
    const Entry &before = table.entries[i - 1], &entry = table.entries[i];
    CHECK(std::tuple(before.kind, before.root, before.min_size) <
          std::tuple(entry.kind, entry.root, entry.min_size));
    if (before.kind == entry.kind && before.root == entry.root)
      CHECK(!(before.skeleton == entry.skeleton));
  }
}

TEST_CASE("a class is planned for its geometric mean") {
  // The class of 1 MiB begins at 2^20 and ends at 2^21: its plan is that of 2^20.5 bytes.
  const Network net = with_slow_native(two_sites(3));
  const Table table = make_table(net, one_each(6), std::array{Kind::allreduce}, openmpi());
  const Size mean = static_cast<Size>(std::llround(std::exp2(20.5)));
  const Plan at_mean = plan(problem(net, Kind::allreduce, mean), openmpi());
  const std::shared_ptr<const Entry> entry = table.find(Kind::allreduce, 0, mean);
  REQUIRE(entry);
  // The table may have another algorithm that takes equally long.
  PlanOptions same = openmpi();
  same.force = entry->skeleton.algorithm;
  CHECK(plan(problem(net, Kind::allreduce, mean), same).predicted <= at_mean.predicted * 1.01);
}

TEST_CASE("over sizes, predicted times neither fall nor jump where rows meet") {
  simulator::SimulationOptions simulation;
  simulation.max_messages = 8000;
  for (std::uint32_t seed = 0; seed < test::share_of(9U, 4); ++seed) {
    const HostId hosts = 3 + static_cast<HostId>(seed);
    const Network net = with_slow_native(algorithms::testing::random_network(hosts, seed));
    const Kind kind = std::array{Kind::bcast, Kind::reduce, Kind::allreduce}[seed % 3];
    const Table table = make_table(net, one_each(hosts), std::array{kind}, openmpi(), 4000000);
    const auto time = [&](const Entry& entry, Size size) {
      return simulator::simulate(problem(net, kind, size), entry.skeleton, simulation).time.value();
    };
    const Entry* before = nullptr;
    for (const Entry& entry : table.entries) {
      if (entry.root != 0) break;
      CAPTURE(seed);
      CAPTURE(entry.min_size);
      if (before != nullptr) {
        CHECK(static_cast<double>(entry.times.front().plan_ns) >=
              static_cast<double>(before->times.back().plan_ns) * 0.999);
        const double below = time(*before, entry.min_size - 1), above = time(entry, entry.min_size);
        CHECK(above <= below * 1.03);
      }
      before = &entry;
    }
  }
}

TEST_CASE("roots whose hosts are alike share choices; one with a slow port makes its own") {
  Network net = with_slow_native(two_sites(3));
  net.hosts[1].egress = Rate(1e6);
  const Table table = make_table(net, one_each(6), std::array{Kind::bcast}, openmpi(), 4000000);
  simulator::SimulationOptions simulation;
  simulation.max_messages = 8000;
  test::Sample sample(6);
  for (Rank root = 0; root < 6; ++root)
    for (const Size size : {Size{1000}, Size{100000}, Size{3000000}}) {
      if (!sample.takes_next()) continue;
      const Problem bcast = problem(net, Kind::bcast, size, root);
      const std::shared_ptr<const Entry> entry = table.find(Kind::bcast, root, size);
      REQUIRE(entry);
      CAPTURE(root);
      CAPTURE(size);
      CHECK(simulator::simulate(bcast, entry->skeleton, simulation).time.value() <=
            1.2 * plan(bcast, openmpi()).predicted.value());
    }
}

TEST_CASE("a table is of all collectives that algorithms are known for") {
  const Network net = with_slow_native(two_sites(2));
  std::vector<Kind> planned;
  for (const Kind kind : collective::kinds) {
    if (std::ranges::any_of(algorithms::all(), [&](const auto* a) { return a->supports(kind); }))
      planned.push_back(kind);
  }
  for (const Effort effort : {Effort::estimate, Effort::normal}) {
    PlanOptions options = openmpi();
    options.effort = effort;
    const Table table = make_table(net, one_each(4), planned, options, 100000);
    for (const Kind kind : planned) {
      const std::shared_ptr<const Entry> entry =
          table.find(kind, 0, kind == Kind::barrier ? 1 : 5000);
      CAPTURE(collective::to_text(kind));
      REQUIRE(entry);
      CHECK(!entry->native);
      CHECK(table.predict(kind, 0, kind == Kind::barrier ? 0 : 5000).plan_ns > 0);
    }
  }
}

TEST_CASE("a patient table is never slower than a normal one") {
  const Network net = with_slow_native(algorithms::testing::random_network(5, 11));
  PlanOptions patient = openmpi();
  patient.effort = Effort::patient;
  patient.budget = 0.5;
  const std::array kind = {Kind::allreduce};
  const Table normal = make_table(net, one_each(5), kind, openmpi(), 100000);
  const Table searched = make_table(net, one_each(5), kind, patient, 100000);
  CHECK(searched == make_table(net, one_each(5), kind, patient, 100000));
  simulator::SimulationOptions simulation;
  for (const Size size : {Size{1448}, Size{92682}}) { // middles of classes
    const Problem allreduce = problem(net, Kind::allreduce, size);
    const auto time = [&](const Table& table) {
      return simulator::simulate(allreduce, table.find(Kind::allreduce, 0, size)->skeleton,
                                 simulation)
          .time.value();
    };
    CHECK(time(searched) <= time(normal) * 1.001);
  }
}

TEST_CASE("where native is faster the row says so") {
  Network net = two_sites(3);
  net.native_times = {{"openmpi", "bcast", 1, Time(1e-6)},
                      {"openmpi", "bcast", 1000, Time(1e-6)},
                      {"openmpi", "bcast", 2000, Time(1000)},
                      {"openmpi", "bcast", 100000000, Time(1000)}};
  const Table table = make_table(net, one_each(6), two_kinds, openmpi(), 100000);
  CHECK(table.find(Kind::bcast, 2, 100)->native);
  CHECK(!table.find(Kind::bcast, 2, 50000)->native);
  // What wasn't measured is taken to be as much faster than predicted as what was.
  CHECK(table.find(Kind::allreduce, 0, 100)->native);
  CHECK(!table.find(Kind::allreduce, 0, 50000)->native);
}

TEST_CASE("many ranks share the choice of their site") {
  const Network net = with_slow_native(two_sites(33)); // 66 hosts
  const Table table = make_table(net, one_each(66), std::array{Kind::bcast}, openmpi(), 1000);
  for (Rank root = 0; root < 66; ++root) {
    const std::shared_ptr<const Entry> own = table.find(Kind::bcast, root, 500);
    const std::shared_ptr<const Entry> first = table.find(Kind::bcast, root < 33 ? 0 : 33, 500);
    REQUIRE(own);
    CHECK(own->skeleton.algorithm == first->skeleton.algorithm);
    CHECK(own->skeleton.segment_size == first->skeleton.segment_size);
    CHECK(own->skeleton.root == root);
  }
}

/// Checks that a table's outline of a row is what the row says.
void check_outline(const Table& table, Kind kind, Rank root, Size size) {
  const std::shared_ptr<const Entry> row = table.find(kind, root, size);
  const std::optional<RowOutline> outline = table.outline(kind, root, size);
  REQUIRE(outline.has_value() == (row != nullptr));
  if (row == nullptr) return;
  CHECK(outline->min_size == row->min_size);
  CHECK(outline->native == row->native);
  CHECK(outline->has_second == row->second.has_value());
}

TEST_CASE("the ranks of a host share their rows, exchanged") {
  const Network net = with_slow_native(two_sites(2));
  const Placement placement = {2, 0, 0, 2, 1, 0, 3, 3, 0, 2};
  const std::array kinds = {Kind::bcast, Kind::reduce, Kind::gather, Kind::scatter};
  for (const Effort effort : {Effort::estimate, Effort::normal}) {
    PlanOptions options = openmpi();
    options.effort = effort;
    const Table table = make_table(net, placement, kinds, options, 1 << 20);
    for (const Entry& entry : table.entries)
      CHECK(network::first_on_host(placement, static_cast<std::size_t>(entry.root)) ==
            static_cast<std::size_t>(entry.root));
    for (const Kind kind : kinds)
      for (Rank root = 0; root < 10; ++root)
        for (const Size size : {Size{100}, Size{1} << 18}) {
          const auto first =
              static_cast<Rank>(network::first_on_host(placement, static_cast<std::size_t>(root)));
          const std::shared_ptr<const Entry> own = table.find(kind, root, size),
                                             other = table.find(kind, first, size);
          REQUIRE((own && other));
          CAPTURE(root);
          CHECK(own->root == root);
          CHECK(own->native == other->native);
          CHECK(table.predict(kind, root, size) == table.predict(kind, first, size));
          check_outline(table, kind, root, size);
          if (own->native) continue;
          const auto rooted_at = [&](Rank at) {
            return algorithms::make_problem({.kind = kind, .ranks = 10, .root = at, .size = size},
                                            net, placement, "openmpi");
          };
          const Problem rooted = rooted_at(root);
          CHECK_NOTHROW(algorithms::check_fit(own->skeleton, rooted.collective));
          replay(rooted, own->skeleton);
          CHECK(simulator::simulate(rooted, own->skeleton, {}).time.value() ==
                doctest::Approx(
                    simulator::simulate(rooted_at(first), other->skeleton, {}).time.value())
                    .epsilon(0.03));
        }
  }
}

TEST_CASE("with many ranks per host a table has rows for all roots") {
  const Network net = with_slow_native(two_sites(2));
  Placement placement;
  for (HostId host = 0; host < 4; ++host)
    placement.insert(placement.end(), 80, host);
  const Table table = quick_table(net, placement, openmpi());
  for (Rank root = 0; root < 320; ++root) {
    const std::shared_ptr<const Entry> row = table.find(Kind::bcast, root, 100'000);
    REQUIRE(row);
    REQUIRE(!row->native);
    CHECK(row->skeleton.root == root);
  }
  CHECK(to_bytes(table).size() < std::size_t{1} << 18);
}

TEST_CASE("a row that was given is native for the other ranks of its host, until they have rows") {
  Entry given{.kind = Kind::bcast, .root = 0, .min_size = 1, .native = false, .skeleton = {}};
  given.skeleton.algorithm = "listed";
  given.skeleton.transfers = {0, 0, 2, 0, 0, 0, 1, 0, 1, 1};
  given.times = {{.size = 1, .plan_ns = 5, .native_ns = 9}};
  Table table{{4, 4, 5}, {given}};
  CHECK(table.find(Kind::bcast, 0, 7)->skeleton == given.skeleton);
  CHECK(table.find(Kind::bcast, 1, 7)->native);
  CHECK(table.predict(Kind::bcast, 1, 1).plan_ns == 9);
  CHECK(table.predict(Kind::bcast, 0, 1).plan_ns == 5);
  CHECK(!table.find(Kind::bcast, 2, 7));
  for (const Rank root : {0, 1, 2})
    check_outline(table, Kind::bcast, root, 7);
  Entry native{.kind = Kind::reduce, .root = 0, .min_size = 1, .native = true, .skeleton = {}};
  native.second = algorithms::make_skeleton(algorithms::find("binomial"),
                                            problem(two_sites(2), Kind::reduce, 1000), {});
  CHECK(Table{{0, 0, 1, 2}, {native}}.find(Kind::reduce, 1, 7)->second->root == 1);
  native.second->transfers = given.skeleton.transfers;
  CHECK(!Table{{0, 0, 1, 2}, {native}}.find(Kind::reduce, 1, 7)->second);
  for (int i = 0; i < 2; ++i) {
    table.own_rows(Kind::bcast, 1);
    CHECK(table.entries.size() == 2);
    CHECK(table.rows(Kind::bcast, 1) == std::vector{table.entries[1]});
  }
  CHECK(table.rows(Kind::bcast, 2).empty());
  CHECK(table.rows(Kind::bcast, -1).empty());
  CHECK(table.rows(Kind::bcast, 3).empty());
}

TEST_CASE("a quick table plans with what it has") {
  const Network net = with_slow_native(two_sites(4));
  const Table table = quick_table(net, one_each(8), openmpi());
  for (Rank root = 0; root < 8; ++root)
    for (const Size size : {Size{1}, Size{100000}, Size{100000000}}) {
      REQUIRE(table.find(Kind::bcast, root, size));
      CHECK(table.find(Kind::bcast, root, size)->skeleton.root == root);
      CHECK(table.find(Kind::allreduce, root, size));
    }
  CHECK(table.find(Kind::bcast, 5, 8000000)->skeleton.segment_size > 0); // a pipeline
  CHECK(table == quick_table(net, one_each(8), openmpi()));
  CHECK(quick_table(net, {0, 1, network::no_host}, openmpi()).entries.empty());
  CHECK(quick_table(net, {}, openmpi()).entries.empty());
  CHECK(quick_table(net, {2}, openmpi()).entries.empty());
  for (const Entry& entry : quick_table(net, {2, 2}, openmpi()).entries)
    CHECK(entry.native);
}

TEST_CASE("plan files come back as they were written") {
  PlanFile file = small_file();
  auto& entries = file.tables[0].entries;
  const auto planned = std::find_if(entries.begin(), entries.end(),
                                    [](const Entry& entry) { return !entry.native; });
  REQUIRE(planned != entries.end());
  planned->skeleton.window = 3;
  const auto bytes = to_bytes(file);
  const PlanFile read = from_bytes(bytes);
  CHECK(read.network == file.network);
  CHECK(read.library == file.library);
  CHECK(read.tables == file.tables);
  CHECK(to_bytes(read) == bytes);
  const auto table = to_bytes(file.tables[0]);
  CHECK(table_from_bytes(table) == file.tables[0]);
  CHECK_THROWS_AS(table_from_bytes(bytes), std::invalid_argument);
  CHECK_THROWS_AS(from_bytes(table), std::invalid_argument);
}

TEST_CASE("single plans come back as they were written") {
  const Network net = two_sites(2);
  const Problem bcast = problem(net, Kind::bcast, 100000);
  PlanOptions options = openmpi();
  for (const char* force : {"", "native", "binomial"}) {
    options.force = force;
    Plan planned = plan(bcast, options);
    if (options.force == "binomial") planned.parameters.window = 64;
    const Plan read = plan_from_bytes(to_bytes(planned), 4);
    CHECK(read.algorithm == planned.algorithm);
    CHECK(read.parameters == planned.parameters);
    CHECK(read.skeleton == planned.skeleton);
    CHECK(read.predicted == planned.predicted);
    CHECK(read.bound.time == planned.bound.time);
    CHECK(read.bound.reason == planned.bound.reason);
    CHECK(read.reason == planned.reason);
  }
  CHECK_THROWS_AS(plan_from_bytes(to_bytes(plan(bcast, openmpi())), 5), std::invalid_argument);
}

TEST_CASE("wisdom comes back as it was written, or is refused") {
  const std::vector<Record> wisdom = {{"bcast", {std::byte{1}, std::byte{2}}}, {"", {}}};
  const auto bytes = to_bytes(wisdom);
  CHECK(wisdom_from_bytes(bytes) == wisdom);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_THROWS_AS(wisdom_from_bytes(std::span(bytes).first(size)), std::invalid_argument);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] ^= std::byte{0x10};
    CHECK_THROWS_AS(wisdom_from_bytes(damaged), std::invalid_argument);
  }
  CHECK_THROWS_AS(wisdom_from_bytes(to_bytes(small_file())), std::invalid_argument);
}

TEST_CASE("the binary form doesn't depend on the machine") {
  Writer writer;
  writer.put(std::int32_t{-2});
  writer.put(1.0);
  writer.put(std::string("a"));
  const std::vector<std::byte> bytes = writer.take();
  const std::array<int, 21> expected = {0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0,  0xf0,
                                        0x3f, 1,    0,    0,    0, 0, 0, 0, 0, 'a'};
  REQUIRE(bytes.size() == expected.size());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    CHECK(std::to_integer<int>(bytes[i]) == expected[i]);
  // FNV-1a's published test vectors.
  CHECK(checksum({}) == 0xcbf29ce484222325);
  CHECK(checksum(std::array{std::byte{'a'}}) == 0xaf63dc4c8601ec8c);
}

TEST_CASE("a plan with a window below 0 is refused") {
  const Network net = two_sites(1);
  Entry entry;
  entry.native = false;
  entry.skeleton = algorithms::find("binomial").build(problem(net, Kind::bcast, 1000), {});
  Table table{{0, 1}, {entry}};
  CHECK(table_from_bytes(to_bytes(table)) == table);
  table.entries[0].skeleton.window = -1;
  CHECK_THROWS_AS(table_from_bytes(to_bytes(table)), std::invalid_argument);
}

TEST_CASE("a plan without one of its rounds is refused") {
  const Network net = two_sites(2);
  const Problem asked = problem(net, Kind::alltoall, 1000);
  Entry entry;
  entry.kind = Kind::alltoall;
  entry.native = false;
  entry.skeleton = algorithms::find("slowest-first").build(asked, {});
  Table table{{0, 1, 2, 3}, {entry}};
  CHECK(table_from_bytes(to_bytes(table)) == table);
  using Distances = std::vector<Rank>;
  for (const Distances& wrong :
       {Distances{1, 2}, Distances{1, 2, 2}, Distances{0, 1, 2}, Distances{1, 2, 4}}) {
    table.entries[0].skeleton.distances = wrong;
    CHECK_THROWS_AS(table_from_bytes(to_bytes(table)), std::invalid_argument);
  }
  table.entries[0].skeleton = algorithms::find("linear").build(asked, {});
  table.entries[0].skeleton.distances = {1, 2, 3};
  CHECK_THROWS_AS(table_from_bytes(to_bytes(table)), std::invalid_argument);
}

TEST_CASE("a plan may be a list of transfers") {
  const Network net = two_sites(1);
  const Problem asked = problem(net, Kind::alltoall, 1000);
  schedule::Sink sink;
  sink.add(0, 1, 0, schedule::How::copy, schedule::Range{1});
  sink.add(1, 0, 0, schedule::How::copy, schedule::Range{2});
  Entry entry;
  entry.kind = Kind::alltoall;
  entry.native = false;
  entry.skeleton = algorithms::list(asked.collective, {4, {}, std::move(sink)});
  Table table{{0, 1}, {entry}};
  CHECK(table_from_bytes(to_bytes(table)) == table);
  ++table.entries[0].skeleton.transfers[0]; // a local transfer within one register
  CHECK_THROWS_AS(table_from_bytes(to_bytes(table)), std::invalid_argument);
}

TEST_CASE("a damaged plan file is refused") {
  const auto bytes = to_bytes(small_file());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    REQUIRE_THROWS_AS(from_bytes(std::span(bytes).first(size)), std::invalid_argument);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] ^= std::byte{0xff};
    REQUIRE_THROWS_AS(from_bytes(damaged), std::invalid_argument);
  }
  auto longer = bytes;
  longer.push_back({});
  CHECK_THROWS_AS(from_bytes(longer), std::invalid_argument);
}

TEST_CASE("wrong content with a right checksum is read or refused, never worse") {
  const auto bytes = to_bytes(small_file());
  test::Sample sample(8);
  int refused = 0;
  for (std::size_t i = content_at; i < bytes.size(); ++i)
    for (const int change : {0x01, 0x80, 0xff}) {
      if (!sample.takes_next()) continue;
      auto wrong = bytes;
      wrong[i] ^= static_cast<std::byte>(change);
      try {
        static_cast<void>(from_bytes(with_checksum(wrong)));
      } catch (const std::invalid_argument&) {
        ++refused;
      }
    }
  CHECK(refused > 0);
}
