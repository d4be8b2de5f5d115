#pragma once

#include "mapping/cost.hpp"

#include <span>
#include <string>
#include <vector>

namespace thalweg::mapping {

/// How long a program's messages between hosts take where each waits for those before it, by a
/// simulation of a program that the communication matrix may be of.
///
/// All ranks exchange the messages of a phase at once, and none goes on before it has its own. So a
/// rank is late if any other one was, along the longest chain of messages; where nothing flows back
/// (streams.hpp), successive messages are in transit side by side. A matrix doesn't say whether a
/// phase is repeated by itself, as in sweeps, or all phases in turn, as in solvers: the mean of
/// both counts. Ranks wait for each other in each call of a collective by all of them.
///
/// Loads of ports and trunks aren't in it, nor what collectives take that aren't messages.
class Chains {
public:
  /// @param problem its matrix has all messages
  /// @param costs must outlive this
  /// @param library of a program that runs without plans, whose collectives are messages, too, in
  /// phases of their own after the program's; empty: plans aren't known here
  Chains(const Problem& problem, const HostCosts& costs, const std::string& library = {});

  /// Whether all calls of collectives are among the messages.
  [[nodiscard]] bool has_calls() const { return _has_calls; }

  /// O(entries of the matrix), at most 96 times: half of them for each order of the phases. They
  /// are fewer where there is one phase without collectives, or ranks soon stop waiting for each
  /// other, as where nothing flows back.
  [[nodiscard]] Time time(const Placement& placement);

private:
  void add(const std::vector<Traffic>& entries, std::size_t first_phase);
  struct Entry {
    Traffic traffic;
    double messages = 1; ///< at least 1: some matrices have bytes only
    double wait = 0;     ///< seconds for a message, on the placement
  };
  /// The entries of a phase.
  struct Phase {
    std::vector<Entry> entries;
    double most = 0; ///< messages of an entry
  };

  /// Returns the seconds of so many repetitions of phases, in which all wait for all as often as
  /// there are calls. Ends as soon as no message makes a rank later than it is.
  [[nodiscard]] double repeated(std::span<const Phase> phases, double times, double calls);
  /// Lets ranks receive the messages of a phase that are of this repetition.
  /// @returns whether these were all of the phase, and none made its receiver late: then none will
  /// in later repetitions either, unless something else makes a rank late
  bool exchange(const Phase& phase, double times, double repetition);

  const HostCosts& _costs;
  std::vector<Phase> _phases;
  bool _has_calls = false;
  double _calls = 0;                ///< of collectives by all ranks
  std::vector<double> _now, _after; ///< by rank: seconds
};

} // namespace thalweg::mapping
