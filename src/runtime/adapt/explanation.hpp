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
  /// What of the messages' changes is left unexplained; 1: all of them, as without any change.
  double misfit = 1;
};

/// Returns the change that lets the simulated plan take as long as the calls do now, and its
/// messages change as those that were observed; none if each leaves most unexplained.
///
/// Several calls in a row are simulated, so that ranks which come late because of the call before
/// do so in the simulation, too: what a message waits for needn't be told from what it takes. Each
/// trunk, port, and direction between two sites is tried, and the pairs that changed most; of each
/// as much as makes the simulated calls take as long as the observed ones. Of those that explain
/// about as much the first one counts. Where it is looked for a recovery, the network as it was is
/// the only one that is tried. Deterministic. O(causes × simulations).
std::optional<Explanation> explain(const Observations& seen, const std::atomic<bool>& is_cancelled);

} // namespace thalweg::runtime
