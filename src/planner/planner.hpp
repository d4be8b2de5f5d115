#pragma once

#include "algorithms/algorithm.hpp"
#include "bounds/bounds.hpp"
#include "simulator/simulator.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

/// Candidates → predict → search → compare with the bound → choose. Deterministic.
///
/// The passes, each of which is timed, and all but `candidates`, `native` and `choose` of which can
/// be switched off:
/// - candidates: every algorithm for the collective with each of the parameters it suggests, and
///   native;
/// - bound: the physical limit, which says when nothing more needs to be simulated;
/// - estimate: simulator::estimate() of each;
/// - fast: the fast simulator's time of those that the estimate doesn't find hopeless;
/// - fluid: the fluid simulator's time of the best few, and of the best candidate of each algorithm
///   that isn't far behind, until one is very near the bound; first of one that the estimate finds
///   there. For tables a candidate that takes longer than the best by a margin is given up;
/// - confirm: without guessing how long pipelines go on, the candidate to choose;
/// - search: at effort `patient` only: local changes of the best of a few algorithms;
/// - native: what the MPI library's own collective is predicted to take;
/// - choose: the shortest predicted time if it is at most Native::to_beat(), else native; of those
///   within 2 % of it one whose busiest rank has at most half as many messages; where ranks may run
///   ahead, of those that don't lose more in a row of calls than they gain in a single one;
/// - verify: replays a segment of the chosen schedule, unless it has so many messages or chunks
///   that they might not fit into memory, which Plan::reason says then.
///
/// Long pipelines are extrapolated. A candidate with too many messages to simulate (a ring of
/// thousands of ranks) is judged by its estimate, from a part of its schedule, and a margin.
/// Native is a candidate everywhere: its time is predicted from the library's selection rules and
/// Network::native_times (native.hpp). Where there is nothing to plan, for a single rank or ranks
/// of a single host, it is chosen without comparison.
namespace thalweg::planner {

using algorithms::Parameters;
using algorithms::Problem;
using algorithms::Skeleton;
using units::Size;
using units::Time;

/// The MPI library's own collective, where the name of an algorithm stands.
inline constexpr const char* native_name = "native";

/// How long planning may take.
enum class Effort : std::uint8_t {
  estimate, ///< only the passes candidates, estimate and choose: milliseconds
  normal,   ///< all but search
  patient,  ///< all passes
};
/// "estimate", "normal", "patient"
std::string_view to_text(Effort effort);
/// @throws std::invalid_argument listing the known names
Effort parse_effort(std::string_view text);

struct PlanOptions {
  /// Whose native times to use, and for tables whose message costs, a key of
  /// Network::message_costs. A single problem has its costs, which must be the same; empty: none.
  std::string library;
  /// Passes to switch off: "estimate", "fast", "fluid", "search", "native", "bound", "verify".
  /// Without "native", the algorithms are compared with each other only.
  std::vector<std::string> disabled;
  std::size_t finalists = 6; ///< candidates that the fluid simulator ranks after the fast one
  std::string force;         ///< only this algorithm; "native" is allowed
  int window = 0;            ///< of the executor, as simulator::SimulationOptions::window
  Effort effort = Effort::normal;
  std::uint64_t seed = 0; ///< of the search
  /// Seconds of a patient search, of a plan or of a whole table. They are counted in simulated
  /// messages, a million per second, so that a plan depends on neither the machine nor its load.
  double budget = 10;
  /// Threads that plan at the same time; 0: as many as processors. A plan doesn't depend on it.
  int threads = 0;
  /// Candidates besides those of the algorithms, such as algorithms::list() makes. With `force`
  /// only those of that name.
  std::vector<Skeleton> given = {};
  /// Whether the plan isn't wanted any more: then planning ends with Cancelled. It is asked before
  /// each candidate is built, estimated or simulated, by all threads that plan. Null: never.
  std::function<bool()> is_cancelled = {};
};

/// Says that PlanOptions::is_cancelled ended planning: there is no plan, nor a part of one.
class Cancelled : public std::exception {
public:
  [[nodiscard]] const char* what() const noexcept override { return "planning was cancelled"; }
};

/// The MPI library's own collective, as predicted.
struct Native {
  std::string algorithm; ///< by the library's rules: "mpich: scatter-allgather"
  Time time{};
  /// Relative: how much shorter it may be than `time`, compared with a plan that is predicted on
  /// the same network. What a prediction gets wrong of both alike doesn't count.
  double uncertainty = 0;
  bool measured = false; ///< the time itself was measured
  /// What a call takes where ranks make several in a row and may run ahead
  /// (simulator::time_in_a_row()), by the library's rules, times what `time` differs from them. 0:
  /// not known, or the collective synchronises the ranks.
  Time in_a_row{};

  /// The longest predicted time with which a plan is chosen instead: 5 % less, beyond the
  /// uncertainty.
  [[nodiscard]] Time to_beat() const { return time * (0.95 * (1 - uncertainty)); }
  bool operator==(const Native&) const = default;
  static constexpr auto fields() {
    using units::Field;
    return std::tuple{Field("algorithm", &Native::algorithm), Field("time", &Native::time),
                      Field("uncertainty", &Native::uncertainty),
                      Field("measured", &Native::measured), Field("in_a_row", &Native::in_a_row)};
  }
};

/// One row of the explanation.
struct Candidate {
  std::string algorithm; ///< or "native"
  Parameters parameters;
  std::int32_t window = 0; ///< Skeleton::window
  bool searched = false;   ///< changed by search: build() doesn't make it from the parameters
  bool given = false;      ///< from PlanOptions::given: no more does it
  /// Predicted; native's stands with the most exact simulation that is enabled.
  std::optional<Time> estimate, fast, fluid;
  /// The best of what is known of it: fluid, else fast, else the estimate.
  [[nodiscard]] std::optional<Time> time() const { return fluid ? fluid : fast ? fast : estimate; }
  /// What reproduces it in THALWEG_FORCE, after "<collective>=": "packed-trees:segment_size=64KiB".
  /// Empty if only a plan file can: it was searched or given.
  [[nodiscard]] std::string force() const;
};

/// The choice for one (communicator, collective, size).
struct Plan {
  std::string algorithm; ///< "native": the MPI library's own collective; no skeleton
  Parameters parameters;
  Skeleton skeleton;
  Time predicted{}; ///< native's if native is the choice; zero if nothing was predicted
  /// How many times as long as by the best candidate that is: up to 1.02 for one that was chosen
  /// because it is as good and has far fewer messages, or is a neighbour's.
  double times_best = 1;
  Native native; ///< what the plan was compared with
  bounds::Bound bound;
  std::string reason; ///< one sentence for people
};

struct PassTime {
  std::string pass;
  Time time{};
};

/// A plan and how it came about. Everything but `passes` is the same for the same input.
struct Explanation {
  Plan plan;
  std::vector<Candidate> candidates; ///< the chosen one, if it isn't native, then best first
  std::vector<simulator::SimulatedMessage> critical_path; ///< of the chosen plan, first to last
  std::vector<PassTime> passes;
};

/// @throws std::invalid_argument if options.force names no algorithm for the collective, or
/// options.library is another than the problem's; Cancelled
Explanation explain(const Problem& problem, const PlanOptions& options = {});
Plan plan(const Problem& problem, const PlanOptions& options = {});

} // namespace thalweg::planner
