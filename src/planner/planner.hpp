#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "bounds/bounds.hpp"
#include "simulator/simulator.hpp"

/// Candidates → predict → compare with the bound → choose. Deterministic.
namespace thalweg::planner {

using algorithms::Parameters;
using algorithms::Problem;
using algorithms::Skeleton;
using units::Size;
using units::Time;

struct Options {
  std::string library;                ///< whose message costs and native times to use
  std::vector<std::string> disabled;  ///< passes to switch off: "fast", "fluid", "bound", "verify"
  std::size_t finalists = 6;          ///< candidates that the fluid simulator ranks after the fast one
  std::string force;                  ///< only this algorithm; "native" is allowed
};

/// One row of the explanation.
struct Candidate {
  std::string algorithm;              ///< or "native"
  Parameters parameters;
  std::optional<Time> fast, fluid;    ///< predicted; for native the measured time stands in `fluid`
};

/// The choice for one (communicator, collective, size).
struct Plan {
  std::string algorithm;              ///< "native": the MPI library's own collective; no skeleton
  Parameters parameters;
  Skeleton skeleton;
  Time predicted{};                   ///< zero if native without a measured time
  bounds::Bound bound;
  std::string reason;                 ///< one sentence for people
};

struct PassTime {
  std::string pass;
  Time time{};
};

/// A plan and how it came about. Everything but `passes` is the same for the same input.
struct Explanation {
  Plan plan;
  std::vector<Candidate> candidates;        ///< best first
  std::vector<simulator::Event> critical_path; ///< of the chosen plan, first to last
  std::vector<PassTime> passes;
};

/// @throws std::invalid_argument if options.force names no algorithm for the collective
Explanation explain(const Problem& problem, const Options& options = {});
Plan plan(const Problem& problem, const Options& options = {});

} // namespace thalweg::planner
