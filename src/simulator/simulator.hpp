#pragma once

#include <span>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"

/// Predicts when each transfer of a schedule ends on a network.
namespace thalweg::simulator {

using algorithms::Problem;
using algorithms::Skeleton;
using collective::Rank;
using units::Size;
using units::Time;

enum class Fidelity : std::uint8_t {
  fast,  ///< FIFO ports and trunks: for search
  fluid, ///< max-min sharing of ports and trunks, handshakes, windows: for the final ranking
};

struct Options {
  Fidelity fidelity = Fidelity::fluid;
  std::string library;      ///< whose message costs to use; empty or unknown: none
  int window = 8;           ///< transfers in flight per rank, as the executor's
  bool timeline = false;    ///< fill Prediction::timeline
};

/// One message as simulated.
struct Event {
  Rank from = 0, to = 0;
  schedule::Step step = 0;
  std::int32_t segment = 0;
  Size size = 0;
  Time start{}, end{};
  std::int32_t cause = -1; ///< index of the event whose end let this one start; -1: the beginning
};

struct Prediction {
  Time time{};                   ///< last exit, all ranks entering at 0
  std::vector<Time> exits;       ///< by rank
  std::vector<Event> timeline;   ///< in order of (step, from, to) if asked for
};

/// Deterministic. `fast` costs O(messages log messages).
Prediction simulate(const Problem& problem, const Skeleton& skeleton, const Options& options = {});

} // namespace thalweg::simulator
