#include "networks.hpp"
#include "planner/native.hpp"

#include <doctest/doctest.h>
#include <utility>

using namespace thalweg;
using namespace thalweg::planner;
using namespace thalweg::planner::testing;

namespace {

using collective::Collective;

/// What Open MPI 4.1's rules let expect.
Native by_openmpi_4(const Problem& problem) {
  PlanOptions options = openmpi();
  options.library = "openmpi-4.1";
  const Limits limits;
  return NativeModel(problem.network, options, limits).predict(problem);
}

} // namespace

TEST_CASE("Open MPI's allreduce of many ranks is its reduce and its bcast") {
  const Network net = network::even_network(128, Time(1e-4), Rate(125e6));
  const auto allreduce = [&](Size size) {
    return algorithms::make_problem({.kind = Kind::allreduce, .ranks = 128, .size = size}, net,
                                    one_each(128), "openmpi");
  };
  const std::string text = to_text(native_algorithms(allreduce(20'000), "openmpi-4.1").front());
  CHECK(text.starts_with("openmpi-4.1: reduce by "));
  CHECK(text.ends_with(", bcast by flat"));
  // The root sends 20 KB to each of the others: far more than a binomial tree takes.
  CHECK(by_openmpi_4(allreduce(20'000)).time > Time(127 * 20e3 / 125e6));
  CHECK(native_choice(allreduce(20'000), "openmpi-4.1").algorithm == "binomial");
  // Ranks could run ahead in either phase, but not in both.
  CHECK(by_openmpi_4(allreduce(20'000)).in_a_row == Time(0));
}

TEST_CASE("Open MPI's reduce_scatter that goes by rank 0 is its reduce and its scatter") {
  const Network net = network::even_network(40, Time(1e-4), Rate(125e6));
  const auto asked = [&](Rank ranks, Size size, std::vector<Size> block_sizes = {}) {
    Collective collective{.kind = Kind::reduce_scatter, .ranks = ranks, .size = size};
    collective.block_sizes = std::move(block_sizes);
    return algorithms::make_problem(collective, net, one_each(ranks), "openmpi");
  };
  const auto native = [](const Problem& problem) {
    return native_algorithms(problem, "openmpi-4.1").front();
  };
  // Equal blocks: the reduce goes by the bytes of all blocks, the scatter by those of one.
  const NativeAlgorithm equal = native(asked(40, 8));
  CHECK(to_text(equal) == "openmpi-4.1: reduce by binomial, scatter by binomial");
  REQUIRE(equal.phases.size() == 2);
  CHECK(equal.phases[0].collective == Collective{.kind = Kind::reduce, .ranks = 40, .size = 320});
  CHECK(equal.phases[1].collective == Collective{.kind = Kind::scatter, .ranks = 40, .size = 8});
  // Other blocks: all together have less than 64 bytes, and a scatterv follows, which is linear.
  std::vector<Size> sizes(40, 0);
  sizes[3] = sizes[17] = 16;
  const NativeAlgorithm unequal = native(asked(40, 0, sizes));
  CHECK(to_text(unequal) == "openmpi-4.1: reduce by binomial, scatter by flat");
  REQUIRE(unequal.phases.size() == 2);
  CHECK(unequal.phases[0].collective == Collective{.kind = Kind::reduce, .ranks = 40, .size = 32});
  CHECK(unequal.phases[1].collective.block_sizes == sizes);
  // Other choices stay one phase.
  CHECK(to_text(native(asked(40, 100))) == "openmpi-4.1: butterfly");
  // All five others send rank 0 all six blocks, and then it sends them one each.
  const Problem large = asked(6, 2'000'000);
  CHECK(to_text(native(large)) == "openmpi-4.1: reduce by flat, scatter by flat");
  CHECK(by_openmpi_4(large).time > Time((5 * 12e6 + 5 * 2e6) / 125e6));
  CHECK(native_choice(large, "openmpi-4.1").algorithm == "binomial");
}
