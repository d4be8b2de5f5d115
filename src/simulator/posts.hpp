#pragma once

#include "simulator/simulator.hpp"
#include "simulator/traffic.hpp"
#include "simulator/workload.hpp"

namespace thalweg::simulator {

/// A message between ranks as its receiver sees it.
struct PostedMessage {
  Rank from = 0, to = 0;
  schedule::Step step = 0; ///< of its segment
  Time awaited{};          ///< when its receive was posted
  Time end{};              ///< when its data is in place
};

/// What the ranks of a simulated call observe.
struct Posts {
  std::vector<Time> exits; ///< by rank, as Prediction has them
  std::vector<PostedMessage> messages;
};

/// What of a call depends on no latency and no rate: made once, it may be simulated on several
/// networks.
struct CallWorkload {
  /// @throws std::invalid_argument as Workload does
  CallWorkload(const Collective& collective, const Skeleton& skeleton, Size eager_limit);

  Workload workload;
  std::vector<MessageId> order; ///< the messages between ranks, in the global order
};

/// Simulates a skeleton as simulate() does with a timeline. @throws std::invalid_argument likewise
/// @param traffic of the calls before, on the same network, to which this one's is added; null:
/// there is none. Only Fidelity::fast regards it
Posts simulate_posts(const Problem& problem, const Skeleton& skeleton, Fidelity fidelity,
                     Traffic* traffic = nullptr);
/// The same of a workload, which must be that of the problem's collective and eager limit.
/// @param window as of SimulationOptions
Posts simulate_posts(const Problem& problem, const CallWorkload& call, Fidelity fidelity,
                     Traffic* traffic = nullptr, int window = 0);

} // namespace thalweg::simulator
