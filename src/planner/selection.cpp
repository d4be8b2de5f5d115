/// Source of "mpich-1.4": MPICH2 1.4.1, src/mpi/coll/*.c with the defaults of param_vals.c. Of
/// "mpich": MPICH 4.0 and 5.0, maint/tuning/coll/mpir/generic.json as their libraries contain it.
#include "planner/selection.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

namespace thalweg::planner {

using collective::Collective;
using collective::Kind;
using collective::Rank;

namespace {

constexpr Size kib = 1024;

Choice in_rank_order(const char* algorithm, Parameters parameters = {}) {
  parameters.order = algorithms::Order::rank;
  return {algorithm, parameters};
}

/// A collective, as MPICH's rules look at it.
struct Call {
  explicit Call(const Collective& collective)
      : ranks(collective.ranks), size(collective.size), total(collective.total()),
        is_power_of_two(std::has_single_bit(static_cast<std::uint32_t>(ranks))),
        has_element_each(size / element >=
                         static_cast<Size>(std::bit_floor(static_cast<std::uint32_t>(ranks)))),
        is_vector_form(!collective.block_sizes.empty()), in_place(collective.in_place) {}
  Rank ranks;
  Size size, total;
  bool is_power_of_two;
  bool has_element_each; ///< each corner of a hypercube, as Rabenseifner's algorithms need it
  bool is_vector_form, in_place;
};

/// What differs between the releases of MPICH.
struct Mpich {
  Size long_allreduce;          ///< more bytes than that: Rabenseifner's algorithm
  std::int32_t in_flight;       ///< messages of an alltoall
  Size short_bcast, long_bcast; ///< at most so many bytes: a tree; more: a ring
};

const char* select_bcast(const Mpich& rules, const Call& call) {
  if (call.size <= rules.short_bcast || call.ranks < 8) return "binomial";
  return call.size <= rules.long_bcast && call.is_power_of_two ? "scatter-doubling"
                                                               : "scatter-allgather";
}

constexpr Mpich mpich_1_4{2 * kib, 4, 12 * kib - 1, 512 * kib - 1};
constexpr Mpich mpich_today{8, 32, 12 * kib, 512 * kib};

Choice select_allgather(const Call& call, const Collective& collective) {
  if (call.is_power_of_two && call.total < 512 * kib)
    return in_rank_order("recursive-doubling-allgather");
  if (call.total < 80 * kib) return in_rank_order("bruck");
  if (!call.is_vector_form) return in_rank_order("ring");
  // Large blocks of an allgatherv go around in pieces of the smallest one's size.
  const Size smallest = std::ranges::min(collective.block_sizes);
  return in_rank_order("ring", {.segment_size = std::max(32 * kib, smallest)});
}

Choice select_alltoall(const Mpich& rules, const Call& call) {
  if (call.in_place) return in_rank_order("exchange");
  Choice scattered = in_rank_order("linear-sync", {.degree = rules.in_flight});
  if (call.is_vector_form) return scattered;
  if (call.size <= 256 && call.ranks >= 8) return in_rank_order("bruck");
  if (call.size <= 32 * kib) return scattered;
  return in_rank_order(call.is_power_of_two ? "exchange" : "pairwise");
}

Choice select_mpich(const Mpich& rules, const Collective& collective) {
  const Call call(collective);
  switch (collective.kind) {
  case Kind::bcast:
    return in_rank_order(select_bcast(rules, call));
  case Kind::reduce:
    return in_rank_order(call.size > 2 * kib && call.has_element_each ? "rabenseifner"
                                                                      : "binomial");
  case Kind::allreduce:
    return in_rank_order(call.size > rules.long_allreduce && call.has_element_each
                             ? "rabenseifner"
                             : "recursive-doubling");
  case Kind::gather:
  case Kind::scatter:
    return in_rank_order(call.is_vector_form ? "flat" : "binomial");
  case Kind::allgather:
    return select_allgather(call, collective);
  case Kind::alltoall:
    return select_alltoall(rules, call);
  case Kind::reduce_scatter:
    return in_rank_order(call.total < 512 * kib ? "recursive-halving" : "pairwise");
  case Kind::scan:
  case Kind::exscan:
    return in_rank_order("recursive-doubling-scan");
  case Kind::barrier:
    break;
  }
  return in_rank_order("dissemination");
}

constexpr std::array<std::string_view, 3> names{"mpich", "mpich-1.4", "openmpi-4.1"};

} // namespace

std::span<const std::string_view> selections() { return names; }

Choice select(std::string_view name, const Collective& collective) {
  if (name == "mpich") return select_mpich(mpich_today, collective);
  if (name == "mpich-1.4") return select_mpich(mpich_1_4, collective);
  if (name == "openmpi-4.1") return select_openmpi(collective);
  std::string known;
  for (const std::string_view each : names)
    known += (known.empty() ? "" : ", ") + std::string(each);
  throw std::invalid_argument("no MPI library's selection is called \"" + std::string(name) +
                              "\"; there are: " + known);
}

} // namespace thalweg::planner
