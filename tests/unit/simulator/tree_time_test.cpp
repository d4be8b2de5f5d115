#include "../algorithms/networks.hpp"
#include "algorithms/trees/tree.hpp"
#include "networks.hpp"
#include "schedule/verify.hpp"
#include "simulator/monte_carlo.hpp"
#include "simulator/tree_time.hpp"

#include <doctest/doctest.h>
#include <numeric>
#include <random>
#include <stdexcept>

namespace thalweg::simulator::testing {
namespace {

using algorithms::testing::random_network;
using algorithms::testing::random_placement;
using collective::no_rank;

struct Tree {
  std::vector<Rank> order, parents;
};

/// Ranks join in random order, each below one of the last `reach` that joined before: a deep or a
/// flat tree.
Tree random_tree(const Collective& collective, std::size_t reach, std::mt19937& random) {
  Tree tree{{}, std::vector<Rank>(index(collective.ranks), no_rank)};
  tree.order.resize(tree.parents.size());
  std::iota(tree.order.begin(), tree.order.end(), 0);
  std::swap(tree.order.front(), tree.order[index(collective.root)]);
  std::shuffle(tree.order.begin() + 1, tree.order.end(), random);
  for (std::size_t i = 1; i < tree.order.size(); ++i)
    tree.parents[index(tree.order[i])] =
        tree.order[std::min(i - 1, i - std::min(i, reach) + random() % std::min(i, reach))];
  return tree;
}

/// Whether `rank` is below `above`, or the same.
bool is_below(const Tree& tree, Rank rank, Rank above) {
  while (rank != no_rank && rank != above)
    rank = tree.parents[index(rank)];
  return rank == above;
}

/// The blocks of whole subtrees, down the tree or, with all steps reversed, up it.
Schedule blocks_along(const Collective& collective, const Tree& tree) {
  Sink sink;
  const auto last = static_cast<schedule::Step>(tree.order.size());
  for (std::size_t i = 1; i < tree.order.size(); ++i) {
    const Rank rank = tree.order[i], parent = tree.parents[index(rank)];
    std::vector<Range> what;
    for (Rank block = 0; block < collective.ranks; ++block)
      if (is_below(tree, block, rank)) what.push_back({block});
    const auto step = static_cast<schedule::Step>(i);
    if (collective.kind == Kind::scatter)
      sink.add(parent, rank, step, How::copy, what);
    else
      sink.add(rank, parent, last - step, How::copy, what);
  }
  sink.sort();
  return {collective.ranks, {}, std::move(sink)};
}

Schedule along(const Collective& collective, const Tree& tree) {
  if (collective.kind == Kind::scatter || collective.kind == Kind::gather)
    return blocks_along(collective, tree);
  algorithms::Skeleton skeleton;
  skeleton.algorithm = "flat"; // Any tree algorithm emits any tree.
  skeleton.ranks = collective.ranks;
  skeleton.root = collective.root;
  skeleton.order = tree.order;
  skeleton.parents = {tree.parents};
  return algorithms::expand(collective.kind, skeleton, collective.size);
}

network::MessageCost random_cost(std::mt19937& random) {
  const auto time = [&](double most) {
    return Time(random() % 3 == 0 ? 0 : most * static_cast<double>(random() % 8) / 8);
  };
  return {.send = time(1e-3),
          .receive = time(1e-3),
          .per_byte = time(1e-6),
          .combine_per_byte = time(1e-6),
          .handshake = time(1e-3),
          .eager_limit = static_cast<Size>(random() % 3 == 0 ? 0 : random() % 100'000)};
}

TEST_CASE("the time of a tree is that of its schedule") {
  std::mt19937 random(11);
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const auto hosts = static_cast<HostId>(1 + random() % 16);
    const auto ranks = static_cast<Rank>(seed % 2 == 0 ? 1 + random() % 24 : hosts);
    // Where all are equal many things happen at the same time.
    Network net = seed % 3 == 0 ? network::even_network(hosts, Time(1e-3), Rate(1e6))
                                : random_network(hosts, seed);
    if (seed % 3 == 0)
      for (network::Host& host : net.hosts)
        host.egress = host.ingress = Rate(1e6);
    net.message_costs["test"] = random_cost(random);
    Problem problem = algorithms::make_problem(
        {.ranks = ranks, .root = static_cast<Rank>(random() % index(ranks))}, net,
        seed % 2 == 0 ? random_placement(ranks, hosts, seed) : one_each(ranks),
        seed % 4 == 0 ? "" : "test");
    SimulationOptions options;
    options.fidelity = Fidelity::fast;
    options.window = static_cast<int>(random() % 9);
    for (const Kind kind : {Kind::bcast, Kind::reduce, Kind::scatter, Kind::gather}) {
      problem.collective.kind = kind;
      problem.collective.size = seed % 17 == 0 ? 0 : Size{1} << random() % 20;
      problem.collective.block_sizes.clear();
      if (problem.collective.blocks() > 1 && random() % 2 == 0)
        for (Rank rank = 0; rank < ranks; ++rank)
          problem.collective.block_sizes.push_back(random() % 2 == 0 ? 0
                                                                     : Size{1} << random() % 20);
      TreeTime time_of(problem, options);
      for (const std::size_t reach : {1, 2, 5, 100}) {
        const Tree tree = random_tree(problem.collective, reach, random);
        const Schedule schedule = along(problem.collective, tree);
        const double expected = simulate(problem, schedule, options).time.value();
        CAPTURE(seed);
        CAPTURE(collective::to_text(kind));
        CAPTURE(reach);
        if (seed % 10 == 0) schedule::verify(problem.collective, schedule);
        CHECK(time_of(tree.order, tree.parents).value() == doctest::Approx(expected).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("a rank with more children than a window remembers") {
  const Network net = ports_network(100);
  const Problem problem = algorithms::make_problem({.kind = Kind::bcast, .ranks = 100, .size = 10},
                                                   net, one_each(100), "test");
  for (const Kind kind : {Kind::bcast, Kind::reduce}) {
    Problem of = problem;
    of.collective.kind = kind;
    Tree tree{{}, std::vector<Rank>(100, 0)};
    tree.order.resize(100);
    std::iota(tree.order.begin(), tree.order.end(), 0);
    tree.parents[0] = no_rank;
    SimulationOptions options = with(Fidelity::fast, 3);
    CHECK(TreeTime(of, options)(tree.order, tree.parents).value() ==
          doctest::Approx(simulate(of, along(of.collective, tree), options).time.value())
              .epsilon(1e-9));
  }
}

TEST_CASE("other collectives have no time of one tree") {
  const Network net = ports_network(2);
  CHECK_THROWS_WITH_AS(
      TreeTime({{.kind = Kind::alltoall, .ranks = 2}, net, {0, 1}}, SimulationOptions()),
      doctest::Contains("alltoall"), std::invalid_argument);
}

// --- Monte Carlo

TEST_CASE("a sample of trees is the same for the same seed, and its best one takes its minimum") {
  const Network net = algorithms::testing::two_sites();
  for (const Kind kind : {Kind::bcast, Kind::scatter})
    for (const Generator generator : {Generator::binomial, Generator::recursive}) {
      const Problem problem = algorithms::make_problem(
          {.kind = kind, .ranks = 16, .root = 5, .size = 10'000}, net, one_each(16), "test");
      const Draw draw{.generator = generator, .count = 500, .seed = 7};
      const Sample sample = monte_carlo(problem, draw, SimulationOptions());
      CHECK(sample.count == 500);
      CHECK(std::accumulate(sample.histogram.counts.begin(), sample.histogram.counts.end(),
                            std::int64_t{0}) == 500);
      const Collective& collective = problem.collective;
      schedule::verify(collective, along(collective, {sample.order, sample.parents}));
      CHECK(TreeTime(problem, SimulationOptions())(sample.order, sample.parents) == sample.minimum);
      const Sample again = monte_carlo(problem, draw, SimulationOptions());
      CHECK(again.minimum == sample.minimum);
      CHECK(again.histogram.counts == sample.histogram.counts);
      CHECK(monte_carlo(problem, {.generator = generator, .count = 500, .seed = 8},
                        SimulationOptions())
                .mean != sample.mean);
      CHECK(sample.minimum <= sample.quantiles.front());
      CHECK(std::is_sorted(sample.quantiles.begin(), sample.quantiles.end()));
      CHECK(sample.quantiles.back() <= sample.maximum);
    }
}

TEST_CASE("where all binomial trees are alike they all take a message per round") {
  const Network net = ports_network(16);
  const Problem problem = algorithms::make_problem({.kind = Kind::bcast, .ranks = 16, .size = 10},
                                                   net, one_each(16), "test");
  SimulationOptions options;
  options.window = 1;
  const Sample sample = monte_carlo(problem, {.count = 20}, options);
  // A message blocks its sender for 10 ms, and is there after 20; the last one is the fourth.
  CHECK(sample.minimum.value() == doctest::Approx(4 * 0.020));
  CHECK(sample.maximum == sample.minimum);
  CHECK(sample.quantiles.front() == sample.minimum);
}

TEST_CASE("quantiles and histogram are those of the sorted times") {
  const Network net = random_network(13, 3);
  const Problem problem = algorithms::make_problem(
      {.kind = Kind::bcast, .ranks = 13, .size = 100'000}, net, one_each(13), "test");
  // One at a time: what is seen of a growing sample is its k-th time.
  std::vector<double> times;
  for (std::int64_t count = 1; count <= 60; ++count) {
    const Sample sample = monte_carlo(problem, {.generator = Generator::recursive, .count = count},
                                      SimulationOptions());
    times.push_back(sample.mean.value() * static_cast<double>(count) -
                    std::accumulate(times.begin(), times.end(), 0.0));
  }
  std::sort(times.begin(), times.end());
  const Sample sample = monte_carlo(
      problem,
      {.generator = Generator::recursive, .count = 60, .quantiles = {0, 0.25, 0.5, 1}, .bins = 1},
      SimulationOptions());
  CHECK(sample.minimum.value() == doctest::Approx(times.front()));
  CHECK(sample.maximum.value() == doctest::Approx(times.back()));
  for (const auto& [at, place] : {std::pair(0, 0), {1, 14}, {2, 29}, {3, 59}})
    CHECK(sample.quantiles[index(at)].value() ==
          doctest::Approx(times[index(place)]).epsilon(1e-3));
  CHECK(sample.histogram.counts == std::vector<std::int64_t>{60});
}

TEST_CASE("impossible samples are refused") {
  const Network net = ports_network(2);
  const Problem problem = algorithms::make_problem({.ranks = 2, .size = 1}, net, {0, 1}, "test");
  CHECK_THROWS_WITH_AS(monte_carlo(problem, {.count = 0}, SimulationOptions()),
                       doctest::Contains("0 trees"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(monte_carlo(problem, {.quantiles = {2}}, SimulationOptions()),
                       doctest::Contains("quantile 2"), std::invalid_argument);
}

} // namespace
} // namespace thalweg::simulator::testing
