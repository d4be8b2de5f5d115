#pragma once

#include "algorithms/cache.hpp"
#include "planner/preset.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Which simulation judges a skeleton, and how exactly.
namespace thalweg::planner {

/// A candidate's identity.
struct Choice {
  std::string algorithm;
  Parameters parameters;
  bool operator==(const Choice&) const = default;
};

class NativeModel;

/// What a problem's plan is compared with.
struct Known {
  bounds::Bound bound;
  Native native;
};

/// Limits the cost of planning one problem, and holds what is already known about it.
struct Limits {
  Preset preset;
  const std::vector<Choice>* only = nullptr; ///< the candidates besides native; null: all
  const Choice* preferred = nullptr;         ///< taken if it is within 2 % of the best
  const Choice* first = nullptr;             ///< simulated by `fluid` before all others
  const Known* known = nullptr;              ///< computed anew if it isn't given
  Time enough{};                   ///< nothing more is simulated once a candidate takes no longer
  bool confirms = false;           ///< `fluid` guesses after Preset::confirmed_messages
  int threads = 1;                 ///< one if there is a memo
  simulator::Memo* memo = nullptr; ///< of the same collective and root, of any size
  algorithms::Cache* cache = nullptr; ///< of the same network and placement
  NativeModel* native = nullptr;      ///< of the same network and options; null: none kept
};

/// Is called before each piece of planning that may take some milliseconds.
/// @param is_cancelled PlanOptions::is_cancelled
/// @throws Cancelled if it says so
void check_wanted(const std::function<bool()>& is_cancelled);
/// Returns the options with the passes disabled that the preset leaves out.
PlanOptions with_preset(PlanOptions options, const Preset& preset);
[[nodiscard]] bool is_enabled(const PlanOptions& options, std::string_view pass);
/// Returns the most exact simulation that is enabled: "fluid", "fast" or "estimate".
[[nodiscard]] std::string_view best_judge(const PlanOptions& options);
/// Returns the time of a skeleton, by the most exact simulation that is enabled.
/// @param give_up the time after which it is infinite if it is simulated
/// @throws Cancelled
Time judge(const Problem& problem, const Skeleton& skeleton, const PlanOptions& options,
           const Limits& limits, Time give_up = Time::infinity());

/// Returns what a call takes in a row of them, where ranks may run ahead; 0 if they may not, or if
/// that takes too long to simulate.
Time judge_in_a_row(const Problem& problem, const Skeleton& skeleton, const Limits& limits,
                    int window = 0);

/// Returns how a fidelity simulates candidates.
[[nodiscard]] simulator::SimulationOptions
simulation(const PlanOptions& options, const Limits& limits, simulator::Fidelity fidelity);
/// Returns how candidates are estimated.
[[nodiscard]] simulator::SimulationOptions estimation(const PlanOptions& options,
                                                      const Limits& limits);
/// Whether a segment has few enough messages to be estimated from all of them, which
/// Limits::confirms asks for: a sample doesn't see the path through a tree.
[[nodiscard]] bool can_be_estimated_whole(const Problem& problem, const Skeleton& skeleton);
/// Whether a segment's messages carry more chunks together than can be simulated.
[[nodiscard]] bool carries_too_much(const Problem& problem, const Skeleton& skeleton);
/// Whether a schedule can be expanded and followed as a whole: it has at most so many messages,
/// which don't carry so many chunks that it would take gigabytes. Needs little memory itself.
[[nodiscard]] bool can_be_expanded(const Problem& problem, const Skeleton& skeleton,
                                   std::int64_t messages);
/// Replays a skeleton's schedule, and throws as schedule::verify() does. Returns whether it did:
/// one that is too large is vouched for by tests of its algorithm.
bool replay(const Problem& problem, const Skeleton& skeleton);
/// Whether simulating the skeleton takes more work than the preset allows.
[[nodiscard]] bool is_too_large(const Problem& problem, const Skeleton& skeleton,
                                const simulator::SimulationOptions& simulation,
                                const Limits& limits);

} // namespace thalweg::planner
