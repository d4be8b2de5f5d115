#pragma once

#include "algorithms/cache.hpp"
#include "planner/judge.hpp"
#include "planner/window.hpp"

#include <functional>
#include <optional>
#include <span>

namespace thalweg::planner {

/// How many times as many messages the busiest rank of the best candidate must have for one that is
/// predicted to take hardly longer to be chosen instead.
constexpr double many_times = 2;

/// A plan to race with the chosen one.
struct SecondPlan {
  Choice choice;
  Skeleton skeleton;
};

/// Runs the passes over one problem. Its network and the options must outlive it.
class Passes {
public:
  /// @throws std::invalid_argument for a wrong placement, or options.force unknown
  Passes(const Problem& problem, const PlanOptions& options, const Limits& limits);
  /// Runs all passes, in order. @throws Cancelled: then nothing may be asked of it
  void run();
  /// Returns the candidates that have a time, best first, without native; few of one algorithm.
  [[nodiscard]] std::vector<Choice> ranking(std::size_t count) const;
  /// Returns the plan that is to race with the chosen one, since predictions may be wrong: the best
  /// one of another algorithm if it is predicted to take at most 1.25 times as long, or less than
  /// native if that is chosen. None at effort `estimate`, or if an algorithm was asked for.
  [[nodiscard]] std::optional<SecondPlan> second() const;
  Explanation take() { return std::move(_explanation); }

private:
  /// An algorithm and its parameters, to be built.
  struct Guess {
    const algorithms::Algorithm* algorithm;
    Parameters parameters;
  };
  struct Entrant {
    Candidate candidate;
    Skeleton skeleton;
    bool too_large = false;  ///< for the simulation it was meant for
    bool is_guessed = false; ///< its time, by the last simulation
    bool is_confirmed = false;
    Time in_a_row{}; ///< by judge_in_a_row(), where it is compared with native's
    [[nodiscard]] double seconds() const;
    /// Seconds of a single call times those of one in a row.
    [[nodiscard]] double product() const { return seconds() * in_a_row.value(); }
    [[nodiscard]] bool is(const Choice* choice) const;
    [[nodiscard]] bool is_simulated() const { return candidate.fluid || candidate.fast; }
  };

  /// Entrants to be simulated at the same time.
  struct Wave {
    std::vector<Entrant*> entrants;
    Time shortest; ///< of those simulated before; infinity: none
  };

  void compare();
  void pass(const char* name, const std::function<void()>& body);
  [[nodiscard]] bool is_enabled(const char* name) const {
    return planner::is_enabled(_options, name);
  }
  void collect();
  [[nodiscard]] std::vector<Guess> guesses() const;
  [[nodiscard]] static Entrant entrant_of(Skeleton skeleton, const Parameters& parameters);
  [[nodiscard]] std::vector<Entrant> build(const Guess& guess, const LongPath& path) const;
  [[nodiscard]] bool hides_sizes() const;
  [[nodiscard]] bool is_beyond_runtime(const Entrant& entrant) const;
  void add(Entrant entrant);
  void estimate();
  [[nodiscard]] Time best_fluid() const;
  /// Whether a candidate is known by `fluid` to be good enough.
  [[nodiscard]] bool is_settled() const { return is_good_enough(best_fluid()); }
  void predict_first(Entrant& entrant);
  void predict_too_large(Entrant& entrant, Time give_up) const;
  void predict_likeliest();
  void predict_fast();
  void predict_fluid();
  [[nodiscard]] std::size_t chosen() const;
  [[nodiscard]] double busiest_messages(const Entrant& entrant) const;
  [[nodiscard]] bool is_as_good_as_best(const Entrant& entrant) const;
  [[nodiscard]] bool is_near_tie(const Entrant& entrant) const;
  void confirm();
  void confirm_estimate();
  [[nodiscard]] Entrant* unconfirmed(const std::function<bool(const Entrant&)>& can_be_confirmed);
  void predict(Entrant& entrant, const simulator::SimulationOptions& simulation) const;
  [[nodiscard]] bool is_good_enough(Time time) const;
  [[nodiscard]] std::vector<std::size_t> finalists();
  void search();
  void sort();
  /// Sets what `fidelity` predicts for each entrant of a wave, in parallel, unless it takes longer
  /// than the shortest time by `margin`. Then updates that time and empties the wave.
  void predict_wave(Wave& wave, simulator::Fidelity fidelity, double margin) const;
  [[nodiscard]] bool is_too_large(const Entrant& entrant, simulator::Fidelity fidelity) const;
  void predict_native();
  void find_bound();
  void choose();
  void choose_against_native();
  [[nodiscard]] std::size_t favourite() const;
  [[nodiscard]] bool is_faster_than_native(const Entrant& entrant) const;
  void find_in_a_row(Entrant& entrant) const;
  [[nodiscard]] bool does_as_native(const Entrant& entrant) const;
  void choose_native(const std::string& why);
  void choose(std::size_t place);
  [[nodiscard]] Native& native() { return _explanation.plan.native; }
  [[nodiscard]] const Native& native() const { return _explanation.plan.native; }
  void verify();
  void explain();
  [[nodiscard]] std::string describe(const Entrant& entrant) const;
  [[nodiscard]] std::string hardly_slower(const Entrant& entrant) const;
  [[nodiscard]] std::string in_a_row(const Entrant& entrant) const;
  [[nodiscard]] std::string nothing_to_plan() const;

  Problem _problem;
  const PlanOptions& _options;
  Limits _limits;
  algorithms::Cache _cache;       ///< used unless Limits has one
  std::vector<Entrant> _entrants; ///< without native
  Explanation _explanation;
};

} // namespace thalweg::planner
