#pragma once

#include "planner/planner.hpp"

#include <cstdint>
#include <limits>

/// All that tells efforts apart.
namespace thalweg::planner {

/// Which roots of a table are planned; the others share the choices of one that is.
enum class Roots : std::uint8_t { all, one_per_group, first };

/// How much planning may cost.
struct Preset {
  bool simulates = true; ///< else the passes fast, fluid, search, bound and verify are off
  bool searches = false;
  /// simulator::SimulationOptions::max_messages, by fidelity.
  std::int64_t fast_messages = 8000, fluid_messages = 16000;
  /// simulator::SimulationOptions::even_after, in times of these messages, after which `fast`
  /// guesses.
  std::int64_t even_after = 4;
  /// After this many times as many messages `fluid` guesses.
  std::int64_t fluid_guess_after = 64;
  /// The candidate to choose is simulated anew if it was guessed, and guessed only after this many
  /// messages.
  std::int64_t confirmed_messages = 50'000;
  std::int64_t estimate_messages = 2000;     ///< of a segment that an estimate simulates
  std::int64_t candidate_messages = 1000000; ///< a candidate with more is only estimated
  /// A candidate isn't simulated by fluid if its messages, times those that may be in flight, are
  /// more: each may change the rates of all others. Where connections start slowly, and for the
  /// candidate to choose, only those count that may flow at the same time.
  double finalist_flows = 1e8;
  std::size_t finalists = 100; ///< at most, of what PlanOptions::finalists asks for
  /// A candidate isn't simulated if it is estimated to take more than this many times as long as
  /// the best one that is, or if this many others are already.
  double hopeless = 3;
  std::size_t simulated = 100;
  /// Messages that `fast` simulates of all candidates together, after which no other one is.
  std::int64_t all_messages = 3'000'000;
  /// Candidates simulated before the best of them tells which other ones may win, and when their
  /// simulations are given up. It doesn't depend on the number of threads, so that the plan
  /// doesn't.
  std::size_t wave = 2;
  /// A candidate is given up when its simulation takes this many times as long as the best; by fast
  /// it may take as long as a rival.
  double give_up = std::numeric_limits<double>::infinity();
  /// The most messages that calls in a row have together which are simulated.
  std::int64_t messages_in_a_row = 16'000;
  /// Nothing more is simulated when a candidate takes at most this many times the bound.
  double enough = 1.005;
  /// The best candidate of an algorithm is simulated by fluid if fast finds it to take at most this
  /// many times as long as the best: fast may misjudge by that much where flows share a trunk.
  double rival_margin = 1.6;
  /// Blocks times ranks above which no tree is a candidate, since its messages carry that many.
  std::int64_t tree_blocks = std::numeric_limits<std::int64_t>::max();
  bool only_quick_builds = false; ///< only algorithms that build quickly
  std::size_t parameters = 100;   ///< per algorithm, its best guesses first
  /// Whether each algorithm is also tried in the order of ranks, and a pipeline with the usual
  /// window where a wide one may be better.
  bool tries_rank_order = true, tries_both_windows = true;

  // For tables
  int octaves = 1;          ///< of a class of sizes
  Roots roots = Roots::all; ///< that are planned
  /// Roots that have rows, times ranks, above which only the roots planned have some.
  std::size_t most_listed = std::size_t{1} << 16;
  /// Sizes that are simulated between two at which different plans win, for the first root of a
  /// group and for its others; then as many more are estimated.
  int edge_steps = 20, other_edge_steps = 4, edge_estimates = 0;
};

/// To plan one collective on so many ranks.
Preset plan_preset(Effort effort, std::size_t ranks);
/// To plan a table: each class less, since its neighbours make up for what it misses.
Preset table_preset(Effort effort, std::size_t ranks);

} // namespace thalweg::planner
