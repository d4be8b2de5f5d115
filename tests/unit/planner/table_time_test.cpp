#include "../algorithms/networks.hpp"
#include "networks.hpp"
#include "unit/share.hpp"

#include <cmath>
#include <doctest/doctest.h>

namespace thalweg::planner::testing {
namespace {

constexpr Size largest = Size{256} << 20;
/// Smaller messages aren't long pipelines.
constexpr Size smallest = Size{1} << 20;
/// Messages of a schedule that isn't simulated as a whole.
constexpr std::int64_t most = 50'000;

/// Compares the times that tables state with whole simulations.
class TableComparison {
public:
  explicit TableComparison(const Network& net) : _net(net) {}

  void compare(Kind kind, const std::string& algorithm) {
    PlanOptions options;
    options.library = "test";
    options.force = algorithm;
    const bool of_blocks = collective::Collective{.kind = kind, .ranks = _net.size()}.blocks() > 1;
    const Table table = make_table(_net, one_each(_net.size()), std::array{kind}, options,
                                   largest / (of_blocks ? _net.size() : 1));
    for (const Entry& entry : table.entries)
      if (!entry.native && entry.min_size != unknown_size)
        for (const PredictedTimes& times : entry.times)
          if (times.plan_ns > 0) compare(kind, entry, times);
  }
  [[nodiscard]] int compared() const { return _compared; }

private:
  void compare(Kind kind, const Entry& entry, const PredictedTimes& times) {
    const Problem problem = algorithms::make_problem(
        {.kind = kind, .ranks = _net.size(), .root = entry.root, .size = times.size}, _net,
        one_each(_net.size()), "test");
    if (problem.collective.total() < smallest) return;
    if (simulator::simulated_messages(problem, entry.skeleton, {}) > most) return;
    const double whole = simulator::simulate(problem, entry.skeleton).time.value();
    CAPTURE(entry.skeleton.algorithm);
    CAPTURE(collective::to_text(kind));
    CAPTURE(entry.root);
    CAPTURE(problem.collective.size);
    CHECK(1e-9 * static_cast<double>(times.plan_ns) == doctest::Approx(whole).epsilon(0.01));
    ++_compared;
  }

  const Network& _net;
  int _compared = 0;
};

} // namespace

TEST_CASE("what a table states for long pipelines on long fat networks, it takes as a whole") {
  int compared = 0;
  std::uint32_t seed = 0;
  test::Sample sample(8);
  for (std::uint32_t drawn = 0; drawn < test::share_of(2U, 2); ++seed) {
    const Network net = algorithms::testing::long_fat_network(seed);
    if (net.size() > 6) continue;
    ++drawn;
    CAPTURE(seed);
    TableComparison comparison(net);
    std::uint32_t turn = seed;
    for (const algorithms::Algorithm* algorithm : algorithms::all()) {
      std::vector<Kind> kinds;
      for (const Kind kind : every_kind)
        if (algorithm->can_do({.kind = kind, .ranks = net.size()})) kinds.push_back(kind);
      if (!kinds.empty() && sample.takes_next())
        comparison.compare(kinds[turn++ % kinds.size()], std::string(algorithm->name()));
    }
    for (const Kind kind : every_kind)
      if (sample.takes_next()) comparison.compare(kind, "");
    compared += comparison.compared();
  }
  CHECK(compared > test::share_of(200, 40));
}

} // namespace thalweg::planner::testing
