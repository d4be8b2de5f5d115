#include "networks.hpp"
#include "planner/selection.hpp"
#include "schedule/verify.hpp"

#include <doctest/doctest.h>
#include <stdexcept>

using namespace thalweg;
using namespace thalweg::planner;
using namespace thalweg::planner::testing;

namespace {

std::string selected(std::string_view name, Kind kind, Rank ranks, Size size) {
  const Choice choice = select(name, {.kind = kind, .ranks = ranks, .size = size});
  CHECK(choice.parameters.order == algorithms::Order::rank);
  CHECK(choice.parameters.segment_size == 0);
  return choice.algorithm;
}

/// A collective with blocks of these sizes.
collective::Collective vector_form(Kind kind, const std::vector<Size>& sizes, Rank ranks) {
  collective::Collective collective{.kind = kind, .ranks = ranks};
  collective.block_sizes = sizes;
  collective.size = collective.total() / static_cast<Size>(sizes.size());
  return collective;
}

} // namespace

TEST_CASE("MPICH2 1.4's selection") {
  const auto is = [](Kind kind, Rank ranks, Size size, const char* algorithm) {
    CAPTURE(ranks);
    CAPTURE(size);
    CHECK(selected("mpich-1.4", kind, ranks, size) == algorithm);
  };
  is(Kind::bcast, 64, 12287, "binomial");
  is(Kind::bcast, 64, 12288, "scatter-doubling");
  is(Kind::bcast, 63, 12288, "scatter-allgather");
  is(Kind::bcast, 64, 524287, "scatter-doubling");
  is(Kind::bcast, 64, 524288, "scatter-allgather");
  is(Kind::bcast, 7, 1 << 20, "binomial");
  is(Kind::reduce, 16, 2048, "binomial");
  is(Kind::reduce, 16, 2049, "rabenseifner");
  is(Kind::reduce, 512, 2056, "binomial"); // fewer elements than ranks
  is(Kind::allreduce, 16, 2048, "recursive-doubling");
  is(Kind::allreduce, 16, 2049, "rabenseifner");
  is(Kind::gather, 200, 1 << 20, "binomial");
  is(Kind::scatter, 200, 1 << 20, "binomial");
  is(Kind::allgather, 16, 32767, "recursive-doubling-allgather");
  is(Kind::allgather, 16, 32768, "ring");
  is(Kind::allgather, 10, 8191, "bruck");
  is(Kind::allgather, 10, 8192, "ring");
  is(Kind::alltoall, 8, 256, "bruck");
  is(Kind::alltoall, 7, 256, "linear-sync");
  is(Kind::alltoall, 8, 32768, "linear-sync");
  is(Kind::alltoall, 8, 32769, "exchange");
  is(Kind::alltoall, 9, 32769, "pairwise");
  is(Kind::reduce_scatter, 8, 65535, "recursive-halving");
  is(Kind::reduce_scatter, 8, 65536, "pairwise");
  is(Kind::scan, 5, 100, "recursive-doubling-scan");
  is(Kind::exscan, 5, 100, "recursive-doubling-scan");
  is(Kind::barrier, 5, 0, "dissemination");
  CHECK(select("mpich-1.4", {.kind = Kind::alltoall, .ranks = 8, .size = 300}).parameters.degree ==
        4);
  CHECK(select("mpich-1.4", {.kind = Kind::alltoall, .ranks = 8, .size = 300, .in_place = true})
            .algorithm == "exchange");
}

TEST_CASE("unequal blocks have rules of their own") {
  const std::vector<Size> sizes{100000, 40000, 90000};
  CHECK(select("mpich-1.4", vector_form(Kind::gather, sizes, 3)).algorithm == "flat");
  CHECK(select("openmpi-4.1", vector_form(Kind::scatter, sizes, 3)).algorithm == "flat");
  const Choice ring = select("mpich-1.4", vector_form(Kind::allgather, sizes, 3));
  CHECK(ring.algorithm == "ring");
  CHECK(ring.parameters.segment_size == 40000);
  CHECK(select("mpich", vector_form(Kind::allgather, {50000, 10, 90000}, 3))
            .parameters.segment_size == 32768);
  CHECK(select("openmpi-4.1", vector_form(Kind::allgather, sizes, 3)).algorithm == "bruck");
  // Total of 60,000 bytes: a ring; 20,000 bytes each: the butterfly's range of equal blocks.
  CHECK(select("openmpi-4.1", vector_form(Kind::reduce_scatter, {0, 30000, 30000}, 3)).algorithm ==
        "ring");
  CHECK(
      select("openmpi-4.1", {.kind = Kind::reduce_scatter, .ranks = 3, .size = 20000}).algorithm ==
      "butterfly");
  CHECK(select("mpich", vector_form(Kind::alltoall, {1, 2, 3, 4}, 2)).algorithm == "linear-sync");
  CHECK(select("openmpi-4.1", vector_form(Kind::alltoall, {1, 2, 3, 4}, 2)).algorithm ==
        "pairwise");
}

TEST_CASE("the selection of MPICH 4.0 and 5.0, where it differs") {
  const auto is = [](Kind kind, Rank ranks, Size size, const char* algorithm) {
    CAPTURE(ranks);
    CAPTURE(size);
    CHECK(selected("mpich", kind, ranks, size) == algorithm);
  };
  is(Kind::bcast, 7, 1 << 20, "binomial");
  is(Kind::bcast, 64, 12288, "binomial");
  is(Kind::bcast, 64, 12289, "scatter-doubling");
  is(Kind::bcast, 64, 524288, "scatter-doubling");
  is(Kind::bcast, 64, 524289, "scatter-allgather");
  is(Kind::bcast, 63, 12288, "binomial");
  is(Kind::bcast, 63, 12289, "scatter-allgather");
  is(Kind::allreduce, 16, 8, "recursive-doubling");
  is(Kind::allreduce, 16, 120, "recursive-doubling"); // 15 elements
  is(Kind::allreduce, 16, 128, "rabenseifner");
  CHECK(select("mpich", {.kind = Kind::alltoall, .ranks = 8, .size = 300}).parameters.degree == 32);
}

TEST_CASE("Open MPI 4.1's selection") {
  const auto is = [](Kind kind, Rank ranks, Size size, const char* algorithm) {
    CAPTURE(ranks);
    CAPTURE(size);
    CHECK(selected("openmpi-4.1", kind, ranks, size) == algorithm);
  };
  is(Kind::bcast, 3, 31, "pipelined-chain");
  is(Kind::bcast, 3, 32, "binary");
  is(Kind::bcast, 7, 1 << 20, "chain");
  is(Kind::bcast, 8, 32768, "flat");
  is(Kind::bcast, 31, 1 << 20, "scatter-doubling");
  is(Kind::bcast, 32, 2047, "binomial");
  is(Kind::bcast, 100, 1 << 20, "knomial");
  is(Kind::bcast, 600, 20000, "split-binary");
  is(Kind::bcast, 5000, 1 << 20, "knomial");
  is(Kind::reduce, 5, 4096, "chain");
  is(Kind::reduce, 100, 1 << 20, "binomial");
  is(Kind::reduce, 300, 10000, "binary");
  is(Kind::reduce, 2, 4, "flat"); // Rabenseifner's wants an element per rank
  is(Kind::allreduce, 3, 4096, "ring");
  is(Kind::allreduce, 4, 8, "recursive-doubling"); // a ring wants an element per rank
  is(Kind::allreduce, 20, 4096, "rabenseifner");
  is(Kind::allreduce, 100, 4096, "recursive-doubling");
  is(Kind::allreduce, 5000, 1 << 20, "ring");
  is(Kind::alltoall, 40, 511, "bruck");
  is(Kind::alltoall, 40, 512, "linear");
  is(Kind::alltoall, 200, 262144, "pairwise");
  is(Kind::allgather, 2, 100, "recursive-doubling-allgather");
  is(Kind::allgather, 31, 100, "bruck"); // recursive doubling is for powers of two
  is(Kind::allgather, 40, 1024, "neighbor-exchange");
  is(Kind::allgather, 41, 1024, "ring");
  is(Kind::gather, 5, 2000, "flat");
  is(Kind::gather, 100, 1 << 20, "binomial");
  is(Kind::scatter, 20, 16383, "binomial");
  is(Kind::scatter, 20, 16384, "flat");
  is(Kind::reduce_scatter, 5, 256, "recursive-halving");
  is(Kind::reduce_scatter, 100, 1 << 20, "butterfly");
  is(Kind::barrier, 3, 0, "recursive-doubling");
  is(Kind::barrier, 5, 0, "flat");
  is(Kind::barrier, 100, 0, "dissemination");
  is(Kind::barrier, 300, 0, "binomial");
  is(Kind::scan, 9, 1000, "linear-scan");
}

TEST_CASE("an unknown library is named, and the known ones") {
  CHECK_THROWS_WITH_AS(select("mpich-1.5", {}), doctest::Contains("\"mpich-1.5\""),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(select("", {}), doctest::Contains("mpich, mpich-1.4, openmpi-4.1"),
                       std::invalid_argument);
}

TEST_CASE("every choice can be built, and does what its collective asks") {
  for (Rank ranks = 1; ranks <= 20; ++ranks) {
    const Network net = network::even_network(ranks, Time(1e-4), Rate(1e8));
    for (const std::string_view name : selections())
      for (const collective::Kind kind : collective::kinds)
        for (const Size size : {0, 10, 100, 1000, 10000, 30000, 100000, 1000000, 6000000}) {
          Problem asked = problem(net, kind, size);
          if (collective::is_rooted(asked.collective.kind)) asked.collective.root = ranks / 2;
          const Choice choice = select(name, asked.collective);
          CAPTURE(name);
          CAPTURE(choice.algorithm);
          CAPTURE(ranks);
          const algorithms::Algorithm& algorithm = algorithms::find(choice.algorithm);
          REQUIRE(algorithm.can_do(asked.collective));
          const Skeleton skeleton = algorithm.build(asked, choice.parameters);
          CHECK_NOTHROW(schedule::verify(
              asked.collective, algorithms::expand(asked.collective.kind, skeleton, size)));
        }
  }
}
