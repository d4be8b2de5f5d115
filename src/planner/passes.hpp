#pragma once

#include "algorithms/cache.hpp"
#include "planner/planner.hpp"
#include "planner/window.hpp"

#include <functional>

namespace thalweg::planner {

/// A candidate's identity.
struct Choice {
  std::string algorithm;
  Parameters parameters;
  bool operator==(const Choice&) const = default;
};

/// Limits the cost of planning one problem, and holds what is already known about it.
struct Limits {
  /// SimulationOptions::max_messages, by fidelity.
  std::int64_t fast_messages = 8000, fluid_messages = 16000;
  std::int64_t estimate_messages = 2000;     ///< messages of a segment that an estimate simulates
  std::int64_t candidate_messages = 1000000; ///< a candidate with more is only estimated
  /// The largest product of a candidate's messages and the messages in flight at which `fluid`
  /// still simulates it: each flow may change the rates of all others.
  double finalist_flows = 1e8;
  /// The factor over the best simulated time from which a candidate's estimate rules out its
  /// simulation, and the most candidates that are simulated.
  double hopeless = 3;
  std::size_t simulated = 100;
  /// The factor over the best `fast` time up to which an algorithm's best candidate is also
  /// simulated by `fluid`, since `fast` may misjudge by this much where flows share a trunk.
  double rival_margin = 1.6;
  bool quick_builds = false;                 ///< only algorithms that build quickly
  std::size_t parameters = 100;              ///< number tried per algorithm, its best guesses first
  const std::vector<Choice>* only = nullptr; ///< the candidates besides native; null: all
  const Choice* preferred = nullptr;         ///< taken if it is within 2 % of the best
  simulator::Memo* memo = nullptr;           ///< for the same collective and root, any size
  algorithms::Cache* cache = nullptr;        ///< for the same network and placement
};

/// Returns the limits for an effort and a number of ranks, and disables the passes it leaves out.
Limits limits_for(PlanOptions& options, std::size_t ranks);
[[nodiscard]] bool is_enabled(const PlanOptions& options, std::string_view pass);
/// Returns the time of a skeleton, by the most exact simulation that is enabled.
Time judge(const Problem& problem, const Skeleton& skeleton, const PlanOptions& options,
           const Limits& limits);

/// Runs the passes over one problem. Its network and the options must outlive it.
class Passes {
public:
  /// @throws std::invalid_argument for a wrong placement, or options.force unknown
  Passes(const Problem& problem, const PlanOptions& options, const Limits& limits);
  /// Runs all passes, in order.
  void run();
  /// Returns the candidates that have a time, best first, without native; few of one algorithm.
  [[nodiscard]] std::vector<Choice> ranking(std::size_t count) const;
  Explanation take() { return std::move(_explanation); }

private:
  struct Entrant {
    Candidate candidate;
    Skeleton skeleton;
    bool too_large = false; ///< for the simulation it was meant for
    [[nodiscard]] double seconds() const;
  };

  void pass(const char* name, const std::function<void()>& body);
  [[nodiscard]] bool is_enabled(const char* name) const {
    return planner::is_enabled(_options, name);
  }
  void collect();
  void add_windows(const algorithms::Algorithm& algorithm, const Parameters& parameters,
                   const LongPath& path);
  void add(Skeleton skeleton, const Parameters& parameters, bool given = false);
  void estimate();
  void predict_fast();
  void predict_fluid();
  Time predict(Entrant& entrant, simulator::Fidelity fidelity);
  [[nodiscard]] std::vector<std::size_t> finalists();
  void search();
  void sort();
  [[nodiscard]] bool is_too_large(Entrant& entrant, simulator::Fidelity fidelity) const;
  void find_bound();
  void choose();
  void choose_native(const std::string& why);
  void verify() const;
  void explain();
  [[nodiscard]] std::string describe(const Entrant& best) const;
  [[nodiscard]] std::string nothing_to_plan() const;

  Problem _problem;
  const PlanOptions& _options;
  Limits _limits;
  algorithms::Cache _cache;       ///< used unless Limits has one
  std::vector<Entrant> _entrants; ///< without native
  std::optional<Time> _native;
  Explanation _explanation;
};

} // namespace thalweg::planner
