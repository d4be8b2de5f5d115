#include "../algorithms/networks.hpp"
#include "networks.hpp"
#include "unit/share.hpp"

#include <array>
#include <doctest/doctest.h>

using namespace thalweg;
using namespace thalweg::planner;
using namespace thalweg::planner::testing;

namespace {

PredictedTimes at(Size size, std::int64_t plan_ns, std::int64_t native_ns = 0) {
  return {.size = size, .plan_ns = plan_ns, .native_ns = native_ns};
}

/// What a table predicts, in proportion to what its own rows are simulated to take.
double error(const Network& net, const Table& table, Kind kind, Rank root, Size size) {
  const std::shared_ptr<const Entry> entry = table.find(kind, root, size);
  REQUIRE(entry);
  REQUIRE(!entry->native);
  const Problem wanted = problem(net, kind, size, entry->root);
  simulator::SimulationOptions simulation;
  simulation.max_messages = 16000;
  const double simulated = simulator::simulate(wanted, entry->skeleton, simulation).time.value();
  return 1e-9 * static_cast<double>(table.predict(kind, root, size).plan_ns) / simulated;
}

} // namespace

TEST_CASE("times of other sizes follow from those that are known") {
  const std::array known = {at(100, 1000), at(200, 1500), at(1200, 3500)};
  CHECK(interpolate(known, 0) == at(0, 1000));
  CHECK(interpolate(known, 100) == at(100, 1000));
  CHECK(interpolate(known, 150) == at(150, 1250));
  CHECK(interpolate(known, 200) == at(200, 1500));
  CHECK(interpolate(known, 700) == at(700, 2500));
  CHECK(interpolate(known, 2200) == at(2200, 5500));
  CHECK(interpolate({}, 700) == at(700, 0));
  // A single one says nothing of the latency.
  CHECK(interpolate(std::array{at(100, 1000)}, 50) == at(50, 1000));
  CHECK(interpolate(std::array{at(100, 1000)}, 300) == at(300, 3000));
  CHECK(interpolate(std::array{at(0, 1000)}, 0) == at(0, 1000));
  // A larger call that is predicted to be faster doesn't promise that still larger ones take none.
  CHECK(interpolate(std::array{at(100, 1000), at(200, 900)}, 5000) == at(5000, 900));
  // What isn't known of one size is that of those that know it.
  const std::array partly = {at(100, 1000, 4000), at(200, 1500), at(300, 2000, 8000)};
  CHECK(interpolate(partly, 200) == at(200, 1500, 6000));
}

TEST_CASE("another root's times in proportion") {
  const std::array there = {at(100, 1000, 10), at(200, 2000, 20), at(400, 3000, 40)};
  CHECK(in_proportion(there, at(200, 4000, 10)) ==
        std::vector{at(100, 2000, 5), at(200, 4000, 10), at(400, 6000, 20)});
  CHECK(in_proportion(there, at(300, 5000, 60)) ==
        std::vector{at(100, 2000, 20), at(200, 4000, 40), at(300, 5000, 60), at(400, 6000, 80)});
  CHECK(in_proportion(std::array{at(100, 1000)}, at(100, 500, 7)) == std::vector{at(100, 500, 7)});
}

TEST_CASE("a table predicts what its plans take, between the sizes that were planned and beyond") {
  test::Sample sample(7);
  for (const std::uint32_t seed : {0U, 1U, 2U, 3U}) {
    const Network net = with_slow_native(
        seed == 0   ? two_sites(3)
        : seed == 1 ? network::even_network(6, Time(1e-4), Rate(125e6))
                    : algorithms::testing::random_network(5 + static_cast<HostId>(seed), seed));
    for (const Effort effort : {Effort::estimate, Effort::normal})
      for (const Kind kind : {Kind::bcast, Kind::allreduce, Kind::gather, Kind::alltoall}) {
        if (!sample.takes_next()) continue;
        PlanOptions options = openmpi();
        options.effort = effort;
        const Table table =
            make_table(net, one_each(net.size()), std::array{kind}, options, 4'000'000);
        for (const Size size : {1, 700, 65536, 100'000, 1'000'000, 3'000'000, 16'000'000}) {
          CAPTURE(seed);
          CAPTURE(collective::to_text(kind));
          CAPTURE(size);
          CAPTURE(options.effort == Effort::normal);
          CHECK(error(net, table, kind, 0, size) == doctest::Approx(1).epsilon(0.1));
        }
      }
  }
}

TEST_CASE("a row that many classes share predicts each of them") {
  const Network net = with_slow_native(network::even_network(6, Time(1e-4), Rate(125e6)));
  PlanOptions options = openmpi();
  options.force = "packed-trees";
  const Table table = make_table(net, one_each(6), std::array{Kind::bcast}, options, 16'000'000);
  for (Rank root = 0; root < 6; ++root)
    for (const Size size : {8, 3000, 500'000, 8'000'000, 100'000'000}) {
      CAPTURE(root);
      CAPTURE(size);
      CHECK(error(net, table, Kind::bcast, root, size) == doctest::Approx(1).epsilon(0.1));
    }
}

TEST_CASE("nothing is predicted of what a row doesn't know") {
  const Network net = with_slow_native(two_sites(3));
  const Kind kind = Kind::allreduce;
  Table table = make_table(net, one_each(6), std::array{kind}, openmpi(), 1'000'000);
  REQUIRE(table.entries.size() > 2);
  CHECK(table.predict(Kind::bcast, 0, 1000) == PredictedTimes{.size = 1000});
  CHECK(table.predict(kind, 0, 0) == PredictedTimes{});
  Entry& entry = table.entries[1];
  const Size size = entry.times.front().size;
  const PredictedTimes before = table.predict(kind, 0, size);
  CHECK(before == entry.times.front());
  for (PredictedTimes& times : entry.times)
    times.bound_ns = 0;
  CHECK(table.predict(kind, 0, size).bound_ns == 0);
  CHECK(table.predict(kind, 0, size).plan_ns == before.plan_ns);
  entry.times.clear();
  CHECK(table.predict(kind, 0, size) == PredictedTimes{.size = size});
}
