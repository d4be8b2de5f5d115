#include "runtime/choose/worth.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <bit>

namespace thalweg::runtime {
namespace {

using collective::Kind;
using collective::Rank;

constexpr std::int64_t budget_share = 50; ///< a fiftieth is 2 %
constexpr units::Size largest = units::Size{1} << 40;

/// Returns about how long planner::quick_table() takes: with more than 32 ranks it plans fewer
/// collectives. Measured up to 4,096 ranks, on even networks, two sites and uneven clouds.
std::int64_t usual_ns(Rank ranks) {
  const std::int64_t per_rank_ns = ranks <= 32 ? 12'000'000 : 3'000'000;
  return per_rank_ns * ranks;
}

/// Returns how often a rank's data or block passes the busiest rank.
std::int64_t blocks_at_busiest(Kind kind, Rank ranks) {
  switch (kind) {
  case Kind::gather:
  case Kind::scatter:
  case Kind::allgather:
  case Kind::alltoall:
  case Kind::reduce_scatter:
    return ranks - 1;
  case Kind::bcast:
  case Kind::reduce:
  case Kind::allreduce:
  case Kind::scan:
  case Kind::exscan:
  case Kind::barrier:
    break;
  }
  return 1;
}

} // namespace

SlowestPath SlowestPath::of(const network::Network& network, const network::Placement& placement) {
  SlowestPath slowest;
  const network::HostId first = placement.front();
  for (const network::HostId host : placement) {
    const double latency = network.latency(first, host).value();
    const double rate = network.bandwidth(first, host).value();
    slowest.latency_ns = std::max(slowest.latency_ns, static_cast<std::int64_t>(latency * 1e9));
    const double ns_per_mib = std::min(static_cast<double>(1 << 20) / rate * 1e9, 1e12);
    slowest.ns_per_mib = std::max(slowest.ns_per_mib, static_cast<std::int64_t>(ns_per_mib));
  }
  return slowest;
}

std::int64_t call_cost_ns(Kind kind, Rank ranks, units::Size size, const SlowestPath& path) {
  const std::int64_t rounds = std::bit_width(static_cast<std::uint32_t>(ranks - 1));
  const std::int64_t both_ways = collective::is_rooted(kind) ? 1 : 2;
  const std::int64_t bytes =
      std::clamp<std::int64_t>(size, 0, largest / ranks) * blocks_at_busiest(kind, ranks);
  const std::int64_t kib_ns = std::max<std::int64_t>(1, path.ns_per_mib / 1024);
  return both_ways * rounds * std::max<std::int64_t>(1000, path.latency_ns) +
         std::min(bytes / 1024, std::int64_t{1'000'000'000'000'000'000} / kib_ns) * kib_ns;
}

std::int64_t PlanningBudget::expected_ns(Rank ranks) const {
  return usual_ns(ranks) / 100 * _percent;
}

std::int64_t PlanningBudget::shortfall_ns(Rank ranks, std::int64_t now_ns) const {
  return shortfall_of(expected_ns(ranks), now_ns);
}

std::int64_t PlanningBudget::shortfall_of(std::int64_t plan_ns, std::int64_t now_ns) const {
  return budget_share * (_spent_ns + _other_ns + plan_ns) - (now_ns - _start_ns);
}

void PlanningBudget::spend(Rank ranks, std::int64_t ns) {
  // From the first plan on the measured time counts. A short plan on a processor that was busy says
  // little of a long one.
  _spent_ns += ns;
  _usual_ns += usual_ns(ranks);
  _percent = _spent_ns / (_usual_ns / 100) + 1;
}

} // namespace thalweg::runtime
