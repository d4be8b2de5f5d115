#include "planner/unknown_sizes.hpp"

#include "planner/native.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace thalweg::planner {

namespace {

constexpr std::array<Size, 3> other_means = {256, 4096, 1048576};
constexpr std::size_t most_contenders = 3;
constexpr double longest = 1.02; ///< that a plan may take, where native takes 1

struct Contender {
  Choice choice;
  Skeleton skeleton;
  Time at_assumed_size{};
  double product; ///< of its times, divided by native's
  bool is_faster; ///< clearly, at one of the sizes
};

} // namespace

bool needs_only_own_sizes(const collective::Collective& collective, const Skeleton& skeleton) {
  return skeleton.segment_size == 0 && algorithms::sends_directly(collective, skeleton);
}

Problem with_uneven_blocks(Problem problem, Size mean) {
  constexpr std::array<Size, 4> quarters = {1, 2, 4, 9};
  problem.collective.size = mean;
  problem.collective.block_sizes.clear();
  for (collective::ChunkId block = 0; block < problem.collective.blocks(); ++block) {
    const std::uint64_t mixed = static_cast<std::uint64_t>(block) * 0x9e3779b97f4a7c15U;
    problem.collective.block_sizes.push_back(mean * quarters[mixed >> 62] / 4);
  }
  return problem;
}

Plan best_for_all_sizes(const Explanation& at_assumed_size, const Problem& problem,
                        const PlanOptions& options, const Limits& limits) {
  const Native& native = at_assumed_size.plan.native;
  std::vector<Contender> contenders;
  for (const Candidate& candidate : at_assumed_size.candidates)
    if (candidate.algorithm != native_name && candidate.time() && !candidate.force().empty() &&
        contenders.size() < most_contenders && *candidate.time() <= native.time * longest)
      contenders.push_back({{candidate.algorithm, candidate.parameters},
                            algorithms::make_skeleton(algorithms::find(candidate.algorithm),
                                                      problem, candidate.parameters),
                            *candidate.time(),
                            *candidate.time() / native.time,
                            *candidate.time() <= native.to_beat()});
  for (const Size mean : other_means) {
    if (contenders.empty()) break;
    const Problem uneven = with_uneven_blocks(problem, mean);
    const Native other = limits.native->predict(uneven);
    std::erase_if(contenders, [&](Contender& each) {
      const Time time = judge(uneven, each.skeleton, options, limits);
      each.product *= time / other.time;
      each.is_faster |= time <= other.to_beat();
      return time > other.time * longest;
    });
  }
  std::erase_if(contenders, [](const Contender& each) { return !each.is_faster; });
  const auto best = std::ranges::min_element(contenders, {}, &Contender::product);
  Plan plan;
  plan.native = native;
  plan.bound = at_assumed_size.plan.bound;
  plan.algorithm = native_name;
  plan.predicted = native.time;
  if (best == contenders.end()) return plan;
  plan.algorithm = best->choice.algorithm;
  plan.parameters = best->choice.parameters;
  plan.skeleton = std::move(best->skeleton);
  plan.predicted = best->at_assumed_size;
  return plan;
}

} // namespace thalweg::planner
