#pragma once

#include "adapting/simulated_mpi.hpp"
#include "planner/table.hpp"
#include "runtime/adapt/adaptation.hpp"
#include "runtime/choose/chooser.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

/// Runs of a program on a network that changes, in which all that the runtime does to adapt is the
/// real code, and all that takes time is simulated.
namespace thalweg::test {

using network::Network;
using Shapes = std::vector<collective::Collective>;

/// A run: collectives that are called in turn, again and again.
struct Story {
  Network planned; ///< what plans are made for
  Shapes shapes;
  /// The network from a call on, ascending; the first one from call 0.
  struct Change {
    std::size_t call = 0;
    Network network;
  };
  std::vector<Change> changes;
  /// The call from which on the last shape doesn't come any more.
  std::size_t last_ends = std::numeric_limits<std::size_t>::max();
  double flap_s = 0; ///< above 0: the networks take turns of so many seconds instead
  std::size_t calls = 0;
  std::optional<double> planning_s = 3; ///< none: the leader has no memory for it
  /// Most of what a rank computes between two calls, at random, apart from each other.
  double skew_s = 1e-3;
  /// What a call may take longer than simulated, at random, as a fraction.
  double noise = 0.05;
  double clock_error_s = 1e-4;
  double native_factor = 1; ///< how many times as long native takes as its algorithm's simulation
  std::uint64_t seed = 1;
};

/// What adapts.
enum class Mode : std::uint8_t { stays, races, follows };

struct Run {
  std::vector<double> ends_s;        ///< of each call, when its last rank has left
  std::vector<std::uint64_t> epochs; ///< that had ended before each call
  std::vector<runtime::Attempt> attempts;
  std::vector<std::size_t> adopted; ///< calls at which another table came into force
  std::vector<std::string> said;    ///< to the user
  std::size_t native_calls = 0;
  bool alike = true; ///< all ranks always executed the same
  /// Returns what the calls from one on to before another took.
  [[nodiscard]] double seconds(std::size_t from, std::size_t to) const {
    return ends_s[to - 1] - (from == 0 ? 0 : ends_s[from - 1]);
  }
  [[nodiscard]] double seconds() const { return ends_s.back(); }
};

using Plans = std::shared_ptr<const planner::Table>;

/// Returns a table with a plan for each shape, for a network; native's times are predicted for
/// `usual`.
Plans plans_for(const Network& network, const Shapes& shapes, const Network& usual);

/// @param plans that are in force at first
Run run(const Story& story, Mode mode, Plans plans);

} // namespace thalweg::test
