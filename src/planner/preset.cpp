#include "planner/preset.hpp"

namespace thalweg::planner {
namespace {

/// More ranks than these are planned by estimates alone, whatever the effort.
constexpr auto most_simulated_ranks = static_cast<std::size_t>(algorithms::most_ranks);

} // namespace

Preset plan_preset(Effort effort, std::size_t ranks) {
  Preset preset;
  preset.searches = effort == Effort::patient;
  if (effort != Effort::estimate && ranks <= most_simulated_ranks) return preset;
  preset.searches = false;
  preset.simulates = false;
  preset.estimate_messages = 1000;
  preset.messages_in_a_row = 1500;
  preset.only_quick_builds = true;
  preset.tree_blocks = std::int64_t{1} << 28;
  preset.parameters = ranks <= 128 ? 2 : 1;
  preset.tries_rank_order = preset.tries_both_windows = false;
  return preset;
}

Preset table_preset(Effort effort, std::size_t ranks) {
  Preset preset = plan_preset(effort, ranks);
  preset.fast_messages = 1000;
  preset.fluid_messages = 4000;
  preset.even_after = 1;
  preset.fluid_guess_after = 2;
  preset.finalist_flows = 2e7;
  preset.finalists = 4;
  preset.give_up = 1.1;
  preset.wave = 1; // A table's problems are planned at the same time, each by one thread.
  preset.hopeless = 1.25;
  preset.simulated = 12;
  preset.all_messages = 500'000;
  preset.rival_margin = 1.1;
  preset.edge_steps = 0;
  preset.other_edge_steps = 0;
  preset.edge_estimates = 5;
  // Skeletons of all roots take hosts × ranks integers.
  preset.roots = ranks <= 16 ? Roots::all : Roots::one_per_group;
  if (preset.simulates) return preset;
  preset.octaves = ranks <= 32 ? 2 : ranks <= 256 ? 4 : 7;
  preset.roots = Roots::first;
  preset.most_listed = 4096;
  preset.edge_steps = 2;
  preset.edge_estimates = 0;
  return preset;
}

} // namespace thalweg::planner
