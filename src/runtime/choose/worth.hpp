#pragma once

#include "collective/collective.hpp"
#include "network/network.hpp"

#include <cstdint>

/// When it is worth planning for a communicator that no plan file knows.
namespace thalweg::runtime {

/// A network's slowest path from a host to others, in integers, since all ranks must decide alike.
struct SlowestPath {
  std::int64_t latency_ns = 0;
  std::int64_t ns_per_mib = 0;
  /// Returns the slowest path from the placement's first host to its others. O(ranks).
  static SlowestPath of(const network::Network& network, const network::Placement& placement);
};

/// Returns roughly what a call costs, in nanoseconds: the rounds of a binomial tree, and the data
/// that passes the busiest rank, over the slowest path.
/// @param size as Collective::size
std::int64_t call_cost_ns(collective::Kind kind, collective::Rank ranks, units::Size size,
                          const SlowestPath& path);

/// The time that a process may spend on plans for communicators: 2 % of the time since MPI_Init.
/// Its values may differ between ranks.
class PlanningBudget {
public:
  /// @param start_ns when MPI_Init ended
  explicit PlanningBudget(std::int64_t start_ns) : _start_ns(start_ns) {}
  /// Returns how long a plan for so many ranks is expected to take: by what it takes on a usual
  /// processor, twice that until one was made here.
  [[nodiscard]] std::int64_t expected_ns(collective::Rank ranks) const;
  /// Returns how much later a plan for so many ranks can be afforded; 0 or less: now.
  [[nodiscard]] std::int64_t shortfall_ns(collective::Rank ranks, std::int64_t now_ns) const;
  /// Returns the same for a plan that is expected to take so long.
  [[nodiscard]] std::int64_t shortfall_of(std::int64_t plan_ns, std::int64_t now_ns) const;
  /// Counts a plan that was made, or waited for.
  void spend(collective::Rank ranks, std::int64_t ns);
  /// Counts the time of another plan, which says nothing about how long tables take.
  void spend(std::int64_t ns) { _other_ns += ns; }

private:
  std::int64_t _start_ns, _spent_ns = 0, _other_ns = 0;
  std::int64_t _usual_ns = 0;  ///< that the plans of _spent_ns usually take
  std::int64_t _percent = 200; ///< of the usual time, of all plans together
};

} // namespace thalweg::runtime
