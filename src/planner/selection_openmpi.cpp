/// Source: Open MPI 4.1, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c, whose algorithms run
/// unsegmented with a chain's fan-out of 1 and a radix of 4.
#include "planner/selection.hpp"

#include <bit>
#include <limits>

namespace thalweg::planner {

using collective::Collective;
using collective::Kind;
using collective::Rank;

namespace {

/// Applies below these numbers of ranks and bytes; the first rule that fits counts. Bytes are those
/// of a block or vector; of a reduce_scatter of unequal blocks those of all blocks.
struct Rule {
  Rank ranks;
  Size size;
  const char* algorithm;
};
constexpr Rank any_ranks = std::numeric_limits<Rank>::max();
constexpr Size any_size = std::numeric_limits<Size>::max();

// clang-format off
constexpr Rule allgather[] = {
    {32, any_size, "recursive-doubling-allgather"},
    {64, 1024, "recursive-doubling-allgather"},
    {64, 65536, "neighbor-exchange"},
    {64, any_size, "ring"},
    {128, 512, "recursive-doubling-allgather"},
    {128, 65536, "neighbor-exchange"},
    {128, any_size, "ring"},
    {256, 512, "recursive-doubling-allgather"},
    {256, 131072, "neighbor-exchange"},
    {256, 524288, "ring"},
    {256, 1048576, "neighbor-exchange"},
    {256, any_size, "ring"},
    {512, 32, "recursive-doubling-allgather"},
    {512, 128, "bruck"},
    {512, 1024, "recursive-doubling-allgather"},
    {512, 131072, "neighbor-exchange"},
    {512, 524288, "ring"},
    {512, 1048576, "neighbor-exchange"},
    {512, any_size, "ring"},
    {1024, 64, "recursive-doubling-allgather"},
    {1024, 256, "bruck"},
    {1024, 2048, "recursive-doubling-allgather"},
    {1024, any_size, "neighbor-exchange"},
    {2048, 4, "recursive-doubling-allgather"},
    {2048, 8, "bruck"},
    {2048, 16, "recursive-doubling-allgather"},
    {2048, 32, "bruck"},
    {2048, 256, "recursive-doubling-allgather"},
    {2048, 512, "bruck"},
    {2048, 4096, "recursive-doubling-allgather"},
    {2048, any_size, "neighbor-exchange"},
    {4096, 32, "bruck"},
    {4096, 128, "recursive-doubling-allgather"},
    {4096, 512, "bruck"},
    {4096, 4096, "recursive-doubling-allgather"},
    {4096, any_size, "neighbor-exchange"},
    {any_ranks, 2, "recursive-doubling-allgather"},
    {any_ranks, 8, "bruck"},
    {any_ranks, 16, "recursive-doubling-allgather"},
    {any_ranks, 512, "bruck"},
    {any_ranks, 4096, "recursive-doubling-allgather"},
    {any_ranks, any_size, "neighbor-exchange"},
};

constexpr Rule allgatherv[] = {
    {3, 2048, "ring"},
    {3, 4096, "recursive-doubling-allgather"},
    {3, 8192, "ring"},
    {3, any_size, "recursive-doubling-allgather"},
    {8, 256, "flat"},
    {8, 4096, "neighbor-exchange"},
    {8, 8192, "ring"},
    {8, 16384, "neighbor-exchange"},
    {8, 262144, "bruck"},
    {8, any_size, "neighbor-exchange"},
    {16, 1024, "flat"},
    {16, any_size, "bruck"},
    {32, 128, "flat"},
    {32, 262144, "bruck"},
    {32, any_size, "ring"},
    {64, 256, "flat"},
    {64, 8192, "bruck"},
    {64, any_size, "ring"},
    {128, 256, "flat"},
    {128, 4096, "bruck"},
    {128, any_size, "ring"},
    {256, 1024, "bruck"},
    {256, 65536, "neighbor-exchange"},
    {256, any_size, "ring"},
    {512, 1024, "bruck"},
    {512, any_size, "ring"},
    {1024, 512, "bruck"},
    {1024, 1024, "flat"},
    {1024, 4096, "bruck"},
    {1024, 1048576, "neighbor-exchange"},
    {1024, any_size, "ring"},
    {any_ranks, 4096, "bruck"},
    {any_ranks, any_size, "neighbor-exchange"},
};

constexpr Rule allreduce[] = {
    {4, 8, "ring"},
    {4, 4096, "recursive-doubling"},
    {4, 8192, "ring"},
    {4, 16384, "recursive-doubling"},
    {4, 262144, "ring"},
    {4, any_size, "rabenseifner"},
    {8, 16, "ring"},
    {8, 8192, "recursive-doubling"},
    {8, any_size, "rabenseifner"},
    {16, 8192, "recursive-doubling"},
    {16, any_size, "rabenseifner"},
    {32, 64, "ring"},
    {32, 4096, "recursive-doubling"},
    {32, any_size, "rabenseifner"},
    {64, 128, "ring"},
    {64, any_size, "rabenseifner"},
    {128, 262144, "recursive-doubling"},
    {128, any_size, "rabenseifner"},
    {256, 131072, "binomial"},
    {256, 262144, "recursive-doubling"},
    {256, any_size, "rabenseifner"},
    {512, 4096, "binomial"},
    {512, any_size, "rabenseifner"},
    {2048, 2048, "binomial"},
    {2048, 16384, "recursive-doubling"},
    {2048, any_size, "rabenseifner"},
    {4096, 2048, "binomial"},
    {4096, 4096, "ring"},
    {4096, 16384, "recursive-doubling"},
    {4096, any_size, "rabenseifner"},
    {any_ranks, 2048, "binomial"},
    {any_ranks, 16384, "ring"},
    {any_ranks, 32768, "recursive-doubling"},
    {any_ranks, any_size, "ring"},
};

constexpr Rule alltoall[] = {
    {3, 32768, "pairwise"},
    {3, 262144, "linear"},
    {3, any_size, "pairwise"},
    {8, 524288, "linear"},
    {8, 1048576, "pairwise"},
    {8, any_size, "linear"},
    {16, any_size, "linear"},
    {32, 4, "linear"},
    {32, 512, "bruck"},
    {32, any_size, "linear"},
    {64, 512, "bruck"},
    {64, any_size, "linear"},
    {256, 1024, "bruck"},
    {256, 262144, "linear"},
    {256, any_size, "pairwise"},
    {512, 1024, "bruck"},
    {512, 32768, "linear"},
    {512, any_size, "pairwise"},
    {1024, 512, "bruck"},
    {1024, 262144, "linear"},
    {1024, any_size, "pairwise"},
    {2048, 512, "bruck"},
    {2048, any_size, "linear"},
    {4096, 1024, "bruck"},
    {4096, any_size, "linear"},
    {8192, 2048, "bruck"},
    {8192, any_size, "linear"},
    {any_ranks, any_size, "pairwise"},
};

constexpr Rule alltoallv[] = {
    {4, any_size, "pairwise"},
    {64, any_size, "linear"},
    {128, any_size, "pairwise"},
    {256, any_size, "linear"},
    {1024, any_size, "pairwise"},
    {8192, any_size, "linear"},
    {any_ranks, any_size, "pairwise"},
};

constexpr Rule barrier[] = {
    {4, any_size, "recursive-doubling"},
    {8, any_size, "flat"},
    {64, any_size, "recursive-doubling"},
    {256, any_size, "dissemination"},
    {512, any_size, "binomial"},
    {1024, any_size, "dissemination"},
    {4096, any_size, "binomial"},
    {any_ranks, any_size, "dissemination"},
};

constexpr Rule bcast[] = {
    {4, 32, "pipelined-chain"},
    {4, 256, "binary"},
    {4, 512, "pipelined-chain"},
    {4, 1024, "knomial"},
    {4, 32768, "flat"},
    {4, 131072, "binary"},
    {4, 262144, "chain"},
    {4, 524288, "flat"},
    {4, 1048576, "binomial"},
    {4, any_size, "binary"},
    {8, 64, "binary"},
    {8, 128, "binomial"},
    {8, 2048, "binary"},
    {8, 8192, "binomial"},
    {8, 1048576, "flat"},
    {8, any_size, "chain"},
    {16, 8, "knomial"},
    {16, 64, "binary"},
    {16, 4096, "knomial"},
    {16, 16384, "binary"},
    {16, 32768, "binomial"},
    {16, any_size, "flat"},
    {32, 4096, "knomial"},
    {32, 1048576, "binomial"},
    {32, any_size, "scatter-doubling"},
    {64, 2048, "binomial"},
    {64, any_size, "knomial"},
    {128, any_size, "knomial"},
    {256, 2, "binomial"},
    {256, 16384, "binary"},
    {256, 32768, "flat"},
    {256, 65536, "binary"},
    {256, any_size, "knomial"},
    {1024, 16384, "knomial"},
    {1024, 32768, "split-binary"},
    {1024, any_size, "knomial"},
    {2048, 524288, "knomial"},
    {2048, any_size, "scatter-doubling"},
    {4096, 262144, "knomial"},
    {4096, any_size, "scatter-doubling"},
    {any_ranks, 8192, "knomial"},
    {any_ranks, 16384, "binary"},
    {any_ranks, any_size, "knomial"},
};

constexpr Rule gather[] = {
    {4, 4, "flat"},
    {4, 32768, "binomial"},
    {4, 65536, "flat"},
    {4, 131072, "binomial"},
    {4, any_size, "flat"},
    {8, 1024, "binomial"},
    {8, 8192, "flat"},
    {8, 32768, "binomial"},
    {8, any_size, "flat"},
    {256, any_size, "binomial"},
    {512, 2048, "binomial"},
    {512, 8192, "flat"},
    {512, any_size, "binomial"},
    {any_ranks, any_size, "binomial"},
};

constexpr Rule reduce[] = {
    {4, 8, "rabenseifner"},
    {4, 16, "binary"},
    {4, 32, "pipelined-chain"},
    {4, 262144, "flat"},
    {4, 524288, "pipelined-chain"},
    {4, 1048576, "chain"},
    {4, any_size, "pipelined-chain"},
    {8, 4096, "binary"},
    {8, 65536, "chain"},
    {8, 262144, "binomial"},
    {8, 524288, "flat"},
    {8, 1048576, "binomial"},
    {8, any_size, "flat"},
    {16, 8192, "binary"},
    {16, any_size, "binomial"},
    {32, 4096, "binary"},
    {32, any_size, "binomial"},
    {256, any_size, "binomial"},
    {512, 8192, "binomial"},
    {512, 16384, "binary"},
    {512, any_size, "binomial"},
    {2048, any_size, "binomial"},
    {4096, 512, "binomial"},
    {4096, 1024, "binary"},
    {4096, 8192, "binomial"},
    {4096, 16384, "binary"},
    {4096, any_size, "binomial"},
    {any_ranks, 16, "binomial"},
    {any_ranks, 32, "binary"},
    {any_ranks, 1024, "binomial"},
    {any_ranks, 2048, "binary"},
    {any_ranks, 8192, "binomial"},
    {any_ranks, 16384, "binary"},
    {any_ranks, any_size, "binomial"},
};

constexpr Rule reduce_scatter[] = {
    {4, 65536, "ring"},
    {4, 131072, "butterfly"},
    {4, any_size, "ring"},
    {8, 8, "binomial"},
    {8, 262144, "recursive-halving"},
    {8, any_size, "ring"},
    {32, 262144, "recursive-halving"},
    {32, any_size, "ring"},
    {64, 64, "binomial"},
    {64, 2048, "recursive-halving"},
    {64, 524288, "butterfly"},
    {64, any_size, "ring"},
    {128, 256, "binomial"},
    {128, 512, "recursive-halving"},
    {128, 2048, "butterfly"},
    {128, 4096, "recursive-halving"},
    {128, any_size, "butterfly"},
    {256, 256, "binomial"},
    {256, 512, "recursive-halving"},
    {256, any_size, "butterfly"},
    {512, 256, "binomial"},
    {512, 1024, "recursive-halving"},
    {512, any_size, "butterfly"},
    {1024, 512, "binomial"},
    {1024, 2048, "recursive-halving"},
    {1024, 8192, "butterfly"},
    {1024, 16384, "recursive-halving"},
    {1024, any_size, "butterfly"},
    {2048, 512, "binomial"},
    {2048, 4096, "recursive-halving"},
    {2048, 16384, "butterfly"},
    {2048, 32768, "recursive-halving"},
    {2048, any_size, "butterfly"},
    {4096, 512, "binomial"},
    {4096, 4096, "recursive-halving"},
    {4096, any_size, "butterfly"},
    {8192, 1024, "binomial"},
    {8192, 8192, "recursive-halving"},
    {8192, any_size, "butterfly"},
    {any_ranks, any_size, "recursive-halving"},
};

constexpr Rule reduce_scatter_block[] = {
    {4, 8, "butterfly"},
    {4, 16, "recursive-halving"},
    {4, 128, "butterfly"},
    {4, 256, "recursive-halving"},
    {4, 4096, "butterfly"},
    {4, 8192, "recursive-halving"},
    {4, 131072, "butterfly"},
    {4, any_size, "binomial"},
    {8, 8, "recursive-halving"},
    {8, 256, "butterfly"},
    {8, 8192, "recursive-halving"},
    {8, 16384, "butterfly"},
    {8, 1048576, "recursive-halving"},
    {8, any_size, "binomial"},
    {16, 4, "binomial"},
    {16, 32, "recursive-halving"},
    {16, 128, "butterfly"},
    {16, 524288, "recursive-halving"},
    {16, 4194304, "binomial"},
    {16, any_size, "butterfly"},
    {32, 32, "binomial"},
    {32, 524288, "recursive-halving"},
    {32, 2097152, "binomial"},
    {32, 4194304, "recursive-halving"},
    {32, any_size, "butterfly"},
    {8192, 4, "recursive-halving"},
    {8192, 16, "binomial"},
    {8192, 65536, "butterfly"},
    {8192, 262144, "binomial"},
    {8192, any_size, "butterfly"},
    {any_ranks, any_size, "recursive-halving"},
};

constexpr Rule scatter[] = {
    {4, any_size, "flat"},
    {8, 2048, "binomial"},
    {8, 4096, "flat"},
    {8, 8192, "binomial"},
    {8, any_size, "flat"},
    {32, 16384, "binomial"},
    {32, any_size, "flat"},
    {64, 512, "binomial"},
    {64, 8192, "flat"},
    {64, 16384, "binomial"},
    {64, any_size, "flat"},
    {any_ranks, 512, "binomial"},
    {any_ranks, any_size, "flat"},
};

constexpr Rule in_place_alltoall[] = {{any_ranks, any_size, "exchange"}};
constexpr Rule linear[] = {{any_ranks, any_size, "flat"}};
constexpr Rule scan[] = {{any_ranks, any_size, "linear-scan"}};
// clang-format on

std::span<const Rule> rules(const Collective& collective) {
  const bool equal = collective.block_sizes.empty();
  switch (collective.kind) {
  case Kind::bcast:
    return bcast;
  case Kind::reduce:
    return reduce;
  case Kind::allreduce:
    return allreduce;
  case Kind::gather:
    return equal ? std::span<const Rule>(gather) : linear;
  case Kind::scatter:
    return equal ? std::span<const Rule>(scatter) : linear;
  case Kind::allgather:
    return equal ? std::span<const Rule>(allgather) : allgatherv;
  case Kind::alltoall:
    if (collective.in_place) return in_place_alltoall;
    return equal ? std::span<const Rule>(alltoall) : alltoallv;
  case Kind::reduce_scatter:
    return equal ? std::span<const Rule>(reduce_scatter_block) : reduce_scatter;
  case Kind::scan:
  case Kind::exscan:
    return scan;
  case Kind::barrier:
    break;
  }
  return barrier;
}

/// Returns the library's alternative if its choice can't do the number of ranks, or of elements.
std::string_view instead(std::string_view algorithm, const Collective& collective) {
  const Rank ranks = collective.ranks;
  const Size elements = collective.size / element;
  const auto power = static_cast<Rank>(std::bit_floor(static_cast<std::uint32_t>(ranks)));
  if (algorithm == "neighbor-exchange" && ranks % 2 != 0) return "ring";
  if (algorithm == "recursive-doubling-allgather" && ranks != power) return "bruck";
  if (collective.kind == Kind::allreduce && algorithm == "ring" && elements < ranks)
    return "recursive-doubling";
  if (algorithm == "rabenseifner" && elements < power) return "flat";
  return algorithm;
}

} // namespace

Choice select_openmpi(const Collective& collective) {
  const bool counts_all =
      collective.kind == Kind::reduce_scatter && !collective.block_sizes.empty();
  const Size size = counts_all ? collective.total() : collective.size;
  std::string_view algorithm;
  for (const Rule& rule : rules(collective))
    if (collective.ranks < rule.ranks && size < rule.size) {
      algorithm = instead(rule.algorithm, collective);
      break;
    }
  Parameters parameters{.order = algorithms::Order::rank};
  if (algorithm == "knomial") parameters.degree = 4;
  if (algorithm == "chain") parameters.degree = 1;
  return {std::string(algorithm), parameters};
}

} // namespace thalweg::planner
