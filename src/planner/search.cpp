#include "planner/search.hpp"

#include "planner/judge.hpp"

namespace thalweg::planner {

namespace {

/// The least cost of an evaluation, and the cost of an impossible change, in messages.
constexpr std::int64_t least_messages = 64;
/// The cost of a message in the fluid simulator, relative to the fast one.
constexpr std::int64_t fluid_cost = 4;
/// A gain below this fraction of the time is rounding.
constexpr double least_gain = 1e-9;

} // namespace

Climbed climb(const Problem& problem, const Skeleton& start, const Climb& options) {
  std::int64_t spent = 0;
  const auto simulate = [&](const Skeleton& skeleton, simulator::SimulationOptions simulation,
                            std::int64_t cost, Time give_up = Time::infinity()) {
    simulation.give_up = give_up;
    simulator::Prediction prediction = simulator::simulate(problem, skeleton, simulation);
    spent += cost * std::max(prediction.messages, least_messages);
    return prediction;
  };
  simulator::Prediction best = simulate(start, options.fast, 1);
  Climbed climbed{start, best.time, simulate(start, options.fluid, fluid_cost).time};
  Moves moves(problem, options.seed);
  while (spent < options.messages) {
    check_wanted(options.is_cancelled);
    auto changed = moves.draw(climbed.skeleton, best.exits);
    if (!changed) {
      spent += 1;
      continue;
    }
    simulator::Prediction fast = simulate(*changed, options.fast, 1, climbed.fast);
    ++climbed.evaluations;
    if (!(fast.time < climbed.fast * (1 - least_gain))) continue;
    const Time fluid = simulate(*changed, options.fluid, fluid_cost, climbed.fluid).time;
    if (fluid > climbed.fluid) continue;
    best = std::move(fast);
    climbed.skeleton = std::move(*changed);
    climbed.fast = best.time;
    climbed.fluid = fluid;
    ++climbed.accepted;
  }
  return climbed;
}

} // namespace thalweg::planner
