#include "planner/openmpi_rules.hpp"
#include "planner/selection.hpp"

#include <bit>

namespace thalweg::planner {

using collective::Collective;
using collective::Kind;
using collective::Rank;

namespace {

using openmpi::Rule;

std::span<const Rule> rules(const Collective& collective) {
  const bool equal = collective.block_sizes.empty();
  switch (collective.kind) {
  case Kind::bcast:
    return openmpi::bcast;
  case Kind::reduce:
    return openmpi::reduce;
  case Kind::allreduce:
    return openmpi::allreduce;
  case Kind::gather:
    return equal ? std::span<const Rule>(openmpi::gather) : openmpi::linear;
  case Kind::scatter:
    return equal ? std::span<const Rule>(openmpi::scatter) : openmpi::linear;
  case Kind::allgather:
    return equal ? std::span<const Rule>(openmpi::allgather) : openmpi::allgatherv;
  case Kind::alltoall:
    if (collective.in_place) return openmpi::in_place_alltoall;
    return equal ? std::span<const Rule>(openmpi::alltoall) : openmpi::alltoallv;
  case Kind::reduce_scatter:
    return equal ? std::span<const Rule>(openmpi::reduce_scatter_block) : openmpi::reduce_scatter;
  case Kind::scan:
  case Kind::exscan:
    return openmpi::scan;
  case Kind::barrier:
    break;
  }
  return openmpi::barrier;
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
