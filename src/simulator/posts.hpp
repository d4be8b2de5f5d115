#pragma once

#include "simulator/simulator.hpp"
#include "simulator/traffic.hpp"

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

/// Simulates a skeleton as simulate() does with a timeline. @throws std::invalid_argument likewise
/// @param traffic of the calls before, on the same network, to which this one's is added; null:
/// there is none. Only Fidelity::fast regards it
Posts simulate_posts(const Problem& problem, const Skeleton& skeleton, Fidelity fidelity,
                     Traffic* traffic = nullptr);

} // namespace thalweg::simulator
