#pragma once

#include "runtime/adapt/causes.hpp"
#include "runtime/adapt/diagnosis.hpp"

#include <atomic>
#include <optional>
#include <vector>

namespace thalweg::runtime {

/// A change of the network that explains what was observed.
struct Explanation {
  std::vector<Cause> causes; ///< empty: the network is again as it was
  Quantity quantity{};
  Network network; ///< after the change
  /// What is left of the difference between observed and simulated waits; 1: all of it.
  double misfit = 1;
};

/// Returns the change of the network with which receivers would wait as they do now; none if each
/// leaves most of the difference.
///
/// The latest calls are simulated in a row, so that ranks which come late because of the call
/// before do so in the simulation, too: what a message waits for needn't be told from what it
/// takes. Each trunk and each direction between two sites with messages that differ, and the ports
/// and pairs whose messages differ most are tried with several factors. Of those that explain about
/// as much the first one counts. Where it is looked for a recovery, only the network as it was is
/// tried. Deterministic. O(causes × simulations); one ends early if another factor explains more.
std::optional<Explanation> explain(const Observations& seen, const std::atomic<bool>& is_cancelled);

} // namespace thalweg::runtime
