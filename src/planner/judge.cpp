#include "planner/judge.hpp"

#include "schedule/verify.hpp"
#include "simulator/call_sequence.hpp"
#include "simulator/estimate.hpp"

#include <algorithm>
#include <utility>

namespace thalweg::planner {

namespace {

/// The most chunks that the messages of an expanded segment may carry: to follow where they go
/// takes about a hundred bytes for each.
constexpr std::int64_t most_expanded_chunks = std::int64_t{1} << 24;
/// The most messages of a segment that is replayed.
constexpr std::int64_t most_replayed = 2'000'000;
/// A schedule with more messages of a segment than these times the ranks is estimated from a sample
/// alone. There are log ranks of recursive doubling.
constexpr std::int64_t most_per_rank = 32;

} // namespace

simulator::SimulationOptions simulation(const PlanOptions& options, const Limits& limits,
                                        simulator::Fidelity fidelity) {
  simulator::SimulationOptions simulation;
  simulation.fidelity = fidelity;
  simulation.window = options.window;
  simulation.max_messages = fidelity == simulator::Fidelity::fast ? limits.preset.fast_messages
                                                                  : limits.preset.fluid_messages;
  simulation.even_after = limits.preset.even_after * simulation.max_messages;
  if (limits.confirms && fidelity == simulator::Fidelity::fluid) {
    simulation.guess_after = limits.preset.confirmed_messages;
    return simulation;
  }
  // Fast only tells what fluid is to simulate.
  simulation.guess_after =
      simulation.even_after *
      (fidelity == simulator::Fidelity::fast ? 1 : limits.preset.fluid_guess_after);
  return simulation;
}

simulator::SimulationOptions estimation(const PlanOptions& options, const Limits& limits) {
  simulator::SimulationOptions estimation = simulation(options, limits, simulator::Fidelity::fast);
  estimation.max_messages = limits.preset.estimate_messages;
  return estimation;
}

bool can_be_estimated_whole(const Problem& problem, const Skeleton& skeleton) {
  Skeleton segment = skeleton;
  segment.segment_size = 0;
  return !carries_too_much(problem, segment) &&
         simulator::simulated_messages(problem, segment, {}) <=
             most_per_rank * std::int64_t{segment.ranks};
}

bool carries_too_much(const Problem& problem, const Skeleton& skeleton) {
  return simulator::carries_more_chunks(problem, skeleton, simulator::most_chunks_carried);
}

bool can_be_expanded(const Problem& problem, const Skeleton& skeleton, std::int64_t messages) {
  return !simulator::carries_more_chunks(problem, skeleton, most_expanded_chunks) &&
         simulator::simulated_messages(problem, skeleton, {}) <= messages;
}

/// A list of transfers was replayed when it was made, so it can be replayed again.
bool replay(const Problem& problem, const Skeleton& skeleton) {
  Skeleton segment = skeleton;
  segment.segment_size = 0;
  const bool is_listed = !skeleton.transfers.empty();
  if (!is_listed && !can_be_expanded(problem, segment, most_replayed)) return false;
  const collective::Collective& wanted = problem.collective;
  schedule::verify(wanted, algorithms::expand(wanted.kind, skeleton, wanted.size));
  return true;
}

bool is_too_large(const Problem& problem, const Skeleton& skeleton,
                  const simulator::SimulationOptions& simulation, const Limits& limits) {
  if (carries_too_much(problem, skeleton)) return true;
  const std::int64_t messages = simulator::simulated_messages(problem, skeleton, simulation);
  if (simulation.fidelity == simulator::Fidelity::fast)
    return messages > limits.preset.candidate_messages;
  const std::int64_t window =
      skeleton.pipeline(problem.collective.size).window_within(simulation.window);
  // Fast, which judges what is too large, knows nothing of slow start, and guesses.
  const std::int64_t in_flight = problem.network.initial_window > 0 || limits.confirms
                                     ? simulator::most_flows(problem, skeleton, simulation)
                                     : std::min(messages, window * skeleton.ranks);
  return static_cast<double>(messages) * static_cast<double>(in_flight) >
         limits.preset.finalist_flows;
}

void check_wanted(const std::function<bool()>& is_cancelled) {
  if (is_cancelled && is_cancelled()) throw Cancelled();
}

bool is_enabled(const PlanOptions& options, std::string_view pass) {
  return std::ranges::find(options.disabled, pass) == options.disabled.end();
}

PlanOptions with_preset(PlanOptions options, const Preset& preset) {
  const auto disable = [&](const char* pass) {
    if (is_enabled(options, pass)) options.disabled.emplace_back(pass);
  };
  if (!preset.searches) disable("search");
  if (!preset.simulates)
    for (const char* pass : {"fast", "fluid", "bound", "verify"})
      disable(pass);
  options.finalists = std::min(options.finalists, preset.finalists);
  return options;
}

std::string_view best_judge(const PlanOptions& options) {
  for (const char* pass : {"fluid", "fast"})
    if (is_enabled(options, pass)) return pass;
  return "estimate";
}

Time judge(const Problem& problem, const Skeleton& skeleton, const PlanOptions& options,
           const Limits& limits, Time give_up) {
  using simulator::Fidelity;
  check_wanted(options.is_cancelled);
  for (const auto& [pass, fidelity] :
       {std::pair("fluid", Fidelity::fluid), {"fast", Fidelity::fast}}) {
    simulator::SimulationOptions simulation = planner::simulation(options, limits, fidelity);
    simulation.give_up = give_up;
    if (is_enabled(options, pass) && !is_too_large(problem, skeleton, simulation, limits))
      return simulator::simulate(problem, skeleton, simulation, limits.memo).time;
  }
  simulator::SimulationOptions estimation = planner::estimation(options, limits);
  if (limits.confirms && can_be_estimated_whole(problem, skeleton)) estimation.max_messages = 0;
  return simulator::estimate(problem, skeleton, estimation);
}

Time judge_in_a_row(const Problem& problem, const Skeleton& skeleton, const Limits& limits,
                    int window) {
  if (collective::synchronizes(problem.collective.kind)) return Time(0);
  const std::int64_t most = limits.preset.messages_in_a_row / simulator::calls_in_a_row;
  if (carries_too_much(problem, skeleton) ||
      simulator::simulated_messages(problem, skeleton, {}) > most)
    return Time(0);
  return simulator::time_in_a_row(problem, skeleton, window);
}

} // namespace thalweg::planner
