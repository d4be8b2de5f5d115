#include "planner/planner.hpp"

#include "planner/judge.hpp"
#include "planner/parallel.hpp"
#include "planner/passes.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace thalweg::planner {

namespace {

constexpr std::array<std::string_view, 3> efforts = {"estimate", "normal", "patient"};

/// Most messages of a timeline.
constexpr std::int64_t longest_timeline = 200000;

std::vector<simulator::SimulatedMessage>
find_critical_path(const Problem& problem, const Plan& plan, const PlanOptions& options) {
  if (plan.algorithm == native_name || !can_be_expanded(problem, plan.skeleton, longest_timeline))
    return {};
  simulator::SimulationOptions simulation;
  simulation.window = options.window;
  simulation.timeline = true;
  return simulator::critical_path(simulator::simulate(problem, plan.skeleton, simulation).timeline);
}

} // namespace

std::string_view to_text(Effort effort) { return efforts[static_cast<std::size_t>(effort)]; }

Effort parse_effort(std::string_view text) {
  const auto found = std::find(efforts.begin(), efforts.end(), text);
  if (found == efforts.end())
    throw std::invalid_argument("no effort is called \"" + std::string(text) +
                                "\": there are estimate, normal and patient");
  return static_cast<Effort>(found - efforts.begin());
}

std::string Candidate::force() const {
  return searched || given ? "" : algorithms::to_text(algorithm, parameters);
}

Explanation explain(const Problem& problem, const PlanOptions& wanted) {
  Limits limits{plan_preset(wanted.effort, problem.placement.size())};
  limits.threads = thread_count(wanted.threads);
  const PlanOptions options = with_preset(wanted, limits.preset);
  Passes passes(problem, options, limits);
  passes.run();
  check_wanted(options.is_cancelled);
  Explanation explanation = passes.take();
  explanation.critical_path = find_critical_path(problem, explanation.plan, options);
  return explanation;
}

Plan plan(const Problem& problem, const PlanOptions& wanted) {
  Limits limits{plan_preset(wanted.effort, problem.placement.size())};
  limits.threads = thread_count(wanted.threads);
  const PlanOptions options = with_preset(wanted, limits.preset);
  Passes passes(problem, options, limits);
  passes.run();
  return passes.take().plan;
}

} // namespace thalweg::planner
