#include "planner/unknown_sizes.hpp"

#include "planner/native.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace thalweg::planner {

namespace {

/// The first one is the size that candidates are built for, and the first to rule them out.
constexpr std::array<Size, 4> means = {assumed_size, 256, 4096, 1048576};
constexpr double longest = 1.02; ///< that a plan may take, where native takes 1

struct DirectPlan {
  Choice choice;
  Skeleton skeleton;
  double product = 1;     ///< of its times, divided by native's
  bool is_faster = false; ///< clearly, at one of the sizes
  Time first{};           ///< at the first size
};

/// Returns blocks of a quarter, a half, one and nine quarters of the mean, in a mixed order.
std::vector<Size> spread(Size mean, collective::ChunkId blocks) {
  constexpr std::array<Size, 4> quarters = {1, 2, 4, 9};
  std::vector<Size> sizes;
  for (collective::ChunkId block = 0; block < blocks; ++block) {
    const std::uint64_t mixed = static_cast<std::uint64_t>(block) * 0x9e3779b97f4a7c15U;
    sizes.push_back(mean * quarters[mixed >> 62] / 4);
  }
  return sizes;
}

std::vector<DirectPlan> direct_candidates(const Problem& problem, const PlanOptions& options,
                                          const Limits& limits) {
  std::vector<DirectPlan> candidates;
  const auto add = [&](const algorithms::Algorithm& algorithm, const Parameters& parameters) {
    DirectPlan candidate{{std::string(algorithm.name()), parameters},
                         algorithms::make_skeleton(algorithm, problem, parameters)};
    const Skeleton& skeleton = candidate.skeleton;
    if (skeleton.segment_size > 0 || !algorithms::sends_directly(problem.collective, skeleton))
      return;
    if (std::ranges::find(candidates, skeleton, &DirectPlan::skeleton) == candidates.end())
      candidates.push_back(std::move(candidate));
  };
  for (const algorithms::Algorithm* algorithm : algorithms::all()) {
    if (!algorithm->can_do(problem.collective) ||
        !algorithm->builds_quickly(problem.collective.ranks) ||
        (!options.force.empty() && options.force != algorithm->name()))
      continue;
    for (const Parameters& parameters : algorithm->candidates(problem))
      if (parameters.segment_size == 0) add(*algorithm, parameters);
    if (limits.preset.tries_rank_order && !algorithm->candidates(problem).empty())
      add(*algorithm, {.order = algorithms::Order::rank});
  }
  return candidates;
}

} // namespace

Plan plan_unknown_sizes(const Problem& problem, const PlanOptions& options, Limits limits) {
  limits.memo = nullptr; // Its times are those of equal blocks.
  Plan plan;
  plan.algorithm = native_name;
  if (options.force == native_name) return plan;
  std::vector<DirectPlan> candidates = direct_candidates(problem, options, limits);
  const bool compares = options.force.empty() && is_enabled(options, "native");
  for (const Size mean : means) {
    if (candidates.empty()) break;
    Problem uneven = problem;
    uneven.collective.size = mean;
    uneven.collective.block_sizes = spread(mean, uneven.collective.blocks());
    Native native;
    native.time = Time(1);
    if (is_enabled(options, "native")) native = limits.native->predict(uneven);
    if (mean == means.front()) plan.native = native;
    for (DirectPlan& each : candidates) {
      const Time time = judge(uneven, each.skeleton, options, limits);
      if (mean == means.front()) each.first = time;
      each.product *= compares && time > native.time * longest
                          ? std::numeric_limits<double>::infinity()
                          : time / native.time;
      each.is_faster |= !compares || time <= native.to_beat();
    }
    std::erase_if(candidates, [](const DirectPlan& each) { return !std::isfinite(each.product); });
  }
  std::erase_if(candidates, [](const DirectPlan& each) { return !each.is_faster; });
  const auto best = std::ranges::min_element(candidates, {}, &DirectPlan::product);
  plan.predicted = plan.native.time;
  if (best == candidates.end()) return plan;
  plan.algorithm = best->choice.algorithm;
  plan.parameters = best->choice.parameters;
  plan.skeleton = std::move(best->skeleton);
  plan.predicted = best->first;
  return plan;
}

} // namespace thalweg::planner
