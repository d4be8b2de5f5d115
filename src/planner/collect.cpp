/// The pass of Passes that builds the candidates.
#include "planner/parallel.hpp"
#include "planner/passes.hpp"
#include "planner/unknown_sizes.hpp"

#include <algorithm>

namespace thalweg::planner {

void Passes::collect() {
  if (_options.force == native_name || !nothing_to_plan().empty()) return;
  for (const Skeleton& skeleton : _options.given)
    if (_options.force.empty() || _options.force == skeleton.algorithm) {
      Entrant entrant = entrant_of(skeleton, {});
      entrant.candidate.given = true;
      add(std::move(entrant));
    }
  const LongPath path(_problem);
  const std::vector<Guess> wanted = guesses();
  std::vector<std::vector<Entrant>> built(wanted.size());
  for_each_parallel(wanted.size(), _limits.threads, [&](std::size_t i) {
    check_wanted(_options.is_cancelled);
    built[i] = build(wanted[i], path);
  });
  for (std::vector<Entrant>& entrants : built)
    for (Entrant& entrant : entrants)
      add(std::move(entrant));
}

std::vector<Passes::Guess> Passes::guesses() const {
  std::vector<Guess> guesses;
  if (_limits.only != nullptr) {
    for (const Choice& choice : *_limits.only)
      guesses.push_back({&algorithms::find(choice.algorithm), choice.parameters});
    return guesses;
  }
  for (const algorithms::Algorithm* algorithm : algorithms::all()) {
    if (!algorithm->can_do(_problem.collective) ||
        (_limits.preset.only_quick_builds &&
         !algorithm->builds_quickly(_problem.collective.ranks)) ||
        (!_options.force.empty() && _options.force != algorithm->name()))
      continue;
    const auto candidates = algorithm->candidates(_problem);
    for (std::size_t i = 0; i < std::min(candidates.size(), _limits.preset.parameters); ++i)
      guesses.push_back({algorithm, candidates[i]});
    // Where all send to all, an order in which near and far ranks alternate may be the better one.
    if (!_limits.preset.tries_rank_order || candidates.empty()) continue;
    guesses.push_back({algorithm, candidates.front()});
    guesses.back().parameters.order = algorithms::Order::rank;
  }
  return guesses;
}

Passes::Entrant Passes::entrant_of(Skeleton skeleton, const Parameters& parameters) {
  Candidate candidate;
  candidate.algorithm = skeleton.algorithm;
  candidate.parameters = parameters;
  candidate.window = skeleton.window;
  return {std::move(candidate), std::move(skeleton)};
}

/// Builds a candidate with the algorithm's window and, if that doesn't fill the longest path, one
/// with a window that does. An estimate can't distinguish the two for a pipeline.
std::vector<Passes::Entrant> Passes::build(const Guess& guess, const LongPath& path) const {
  Skeleton skeleton = algorithms::make_skeleton(*guess.algorithm, _problem, guess.parameters);
  if (_limits.only != nullptr) return {entrant_of(std::move(skeleton), guess.parameters)};
  Parameters wide = guess.parameters;
  wide.window = _options.window > 0 ? 0 : path.window(_problem, skeleton);
  const bool is_pipeline = skeleton.pipeline(_problem.collective.size).segments > 1;
  std::vector<Entrant> built;
  if (wide.window == 0 || !is_pipeline || _limits.preset.tries_both_windows)
    built.push_back(entrant_of(skeleton, guess.parameters));
  if (wide.window == 0) return built;
  if (guess.algorithm->builds_for_window())
    skeleton = algorithms::make_skeleton(*guess.algorithm, _problem, wide);
  skeleton.window = wide.window;
  built.push_back(entrant_of(std::move(skeleton), wide));
  return built;
}

/// Whether only its two ends know the size of a block.
bool Passes::hides_sizes() const {
  return may_hide_sizes(_problem.collective.kind) && !_problem.collective.block_sizes.empty();
}

/// Whether it sends a block through a rank that doesn't know its size.
bool Passes::is_beyond_runtime(const Entrant& entrant) const {
  return hides_sizes() && !needs_only_own_sizes(_problem.collective, entrant.skeleton);
}

void Passes::add(Entrant entrant) {
  const std::int64_t moved = _problem.collective.blocks() * _problem.collective.ranks;
  if (!entrant.skeleton.parents.empty() && moved > _limits.preset.tree_blocks) return;
  if (!entrant.candidate.given && is_beyond_runtime(entrant)) return;
  const auto same = [&](const Entrant& other) { return other.skeleton == entrant.skeleton; };
  if (std::ranges::none_of(_entrants, same)) _entrants.push_back(std::move(entrant));
}

} // namespace thalweg::planner
