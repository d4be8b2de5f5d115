#include "planner/planner.hpp"

#include "planner/passes.hpp"

namespace thalweg::planner {

namespace {

/// A timeline of more messages isn't made.
constexpr std::size_t longest_timeline = 200000;

std::vector<simulator::Event> find_critical_path(const Problem& problem, const Plan& plan,
                                                 const Options& options) {
  if (plan.algorithm == native_name) return {};
  const auto schedule =
      algorithms::expand(problem.collective.kind, plan.skeleton, problem.collective.size);
  const auto segments = static_cast<std::size_t>(schedule.pipeline().segments);
  if (schedule.transfers().size() * segments > longest_timeline) return {};
  simulator::Options simulation;
  simulation.library = options.library;
  simulation.window = options.window;
  simulation.timeline = true;
  return simulator::critical_path(simulator::simulate(problem, schedule, simulation).timeline);
}

} // namespace

Explanation explain(const Problem& problem, const Options& options) {
  Passes passes(problem, options, {});
  passes.run();
  Explanation explanation = passes.take();
  explanation.critical_path = find_critical_path(problem, explanation.plan, options);
  return explanation;
}

Plan plan(const Problem& problem, const Options& options) {
  Passes passes(problem, options, {});
  passes.run();
  return passes.take().plan;
}

} // namespace thalweg::planner
