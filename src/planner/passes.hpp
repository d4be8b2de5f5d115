#pragma once

#include "planner/planner.hpp"

#include <functional>

namespace thalweg::planner {

inline constexpr const char* native_name = "native";

/// A candidate's identity.
struct Choice {
  std::string algorithm;
  Parameters parameters;
  bool operator==(const Choice&) const = default;
};

/// How much one planning may cost, and what it knows beforehand.
struct Limits {
  /// simulator::Options::max_messages, by fidelity.
  std::int64_t fast_messages = 8000, fluid_messages = 16000;
  std::int64_t candidate_messages = 4000000; ///< a candidate with more isn't simulated
  bool quick_builds = false;                 ///< only algorithms that build quickly
  bool rank_order = false; ///< ranks in their own order, which costs less than one by closeness
  std::size_t parameters = 100;              ///< per algorithm, its best guesses first
  const std::vector<Choice>* only = nullptr; ///< the candidates besides native; null: all
  const Choice* preferred = nullptr;         ///< taken if it is within 2 % of the best
  simulator::Memo* memo = nullptr;           ///< of the same collective and root, of any size
};

/// The passes over one problem. The problem must outlive it.
class Passes {
public:
  /// @throws std::invalid_argument for a wrong placement, or options.force unknown
  Passes(const Problem& problem, const Options& options, const Limits& limits);
  /// All passes, in order.
  void run();
  /// The candidates that have a time, best first, without native.
  [[nodiscard]] std::vector<Choice> ranking(std::size_t count) const;
  Explanation take() { return std::move(_explanation); }

private:
  struct Entrant {
    Candidate candidate;
    Skeleton skeleton;
    bool too_large = false; ///< to be simulated
  };

  void pass(const char* name, const std::function<void()>& body);
  [[nodiscard]] bool is_enabled(const char* name) const;
  void collect();
  void add(const algorithms::Algorithm& algorithm, const Parameters& parameters);
  [[nodiscard]] simulator::Options simulation(simulator::Fidelity fidelity) const;
  void predict(simulator::Fidelity fidelity, std::size_t count);
  void sort();
  void find_bound();
  void choose();
  void choose_native(const std::string& why);
  void verify() const;
  void explain();
  [[nodiscard]] std::string describe(const Entrant& best) const;
  [[nodiscard]] std::string nothing_to_plan() const;

  const Problem& _problem;
  const Options& _options;
  Limits _limits;
  std::vector<Entrant> _entrants; ///< without native
  std::optional<Time> _native;
  Explanation _explanation;
};

} // namespace thalweg::planner
