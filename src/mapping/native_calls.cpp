#include "mapping/native_calls.hpp"

#include "algorithms/algorithm.hpp"
#include "mapping/call_plans.hpp"
#include "mapping/starts.hpp"
#include "planner/native_algorithm.hpp"
#include "planner/passes.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace thalweg::mapping {
namespace {

planner::PlanOptions options_for(std::string library) {
  planner::PlanOptions options;
  options.library = std::move(library);
  return options;
}

/// As for tables, whose native times are predicted as these.
planner::Limits limits_for(Rank ranks) {
  return {planner::table_preset(planner::Effort::normal, index(ranks))};
}

/// Adds the messages of a call's algorithm between all of its ranks, unless it has too many rounds.
/// Returns the step after its last one. Of an algorithm with a round for each rank only the first
/// rank's messages are made. Those of a block for each pair are too many to have at once: ranks
/// make them in turn.
std::optional<schedule::Step> add_rounds_of(const planner::Problem& ranks,
                                            const planner::Choice& choice, const Call& call,
                                            schedule::Step begin, std::vector<Traffic>& entries) {
  const planner::Skeleton skeleton =
      algorithms::make_skeleton(algorithms::find(choice.algorithm), ranks, choice.parameters);
  const std::int32_t segments = skeleton.pipeline(ranks.collective.size).segments;
  const schedule::Schedule form(skeleton.chunks, {}, {}, skeleton.weights);
  const schedule::Layout layout = form.layout(ranks.collective);
  const std::size_t before = entries.size();
  const auto member = [&](Rank at) { return call.members.empty() ? at : call.members[index(at)]; };
  schedule::Step end = begin;
  // Returns whether the rank's messages, or those of all, have few enough rounds.
  const auto add = [&](Rank whose) {
    const schedule::Sink own = algorithms::emit(ranks.collective.kind, skeleton, whose);
    for (const schedule::Transfer& each : own.transfers()) {
      if (each.from == each.to || (whose != collective::no_rank && each.from != whose)) continue;
      const schedule::Step step = begin + each.step;
      if (step >= most_phases) return false;
      const std::int64_t bytes = layout.size(0, each.what);
      entries.push_back({member(each.from), member(each.to), call.count * segments,
                         call.count * static_cast<double>(bytes), step});
      end = std::max(end, step + 1);
    }
    return true;
  };
  if (collective::info(ranks.collective.kind).blocks == collective::Blocks::per_pair) {
    for (Rank rank = 0; rank < ranks.collective.ranks; ++rank)
      if (!add(rank)) return std::nullopt;
    return end;
  }
  if (!add(0)) return std::nullopt;
  entries.resize(before);
  if (!add(collective::no_rank)) return std::nullopt;
  return end;
}

/// Returns the messages of a call; none if it has to stay one.
std::optional<std::vector<Traffic>> messages_of(const planner::Problem& ranks, const Call& call,
                                                const std::string& library) {
  const auto algorithms = planner::native_algorithms(ranks, library);
  if (algorithms.size() != 1) return std::nullopt;
  std::vector<Traffic> entries;
  std::optional<schedule::Step> step = 0;
  for (const planner::Phase& phase : algorithms.front().phases) {
    if (phase.level != planner::Level::all) return std::nullopt;
    planner::Problem part = ranks;
    part.collective = phase.collective;
    step = add_rounds_of(part, phase.choice, call, *step, entries);
    if (!step) return std::nullopt;
  }
  return entries;
}

} // namespace

NativeCalls::NativeCalls(const Problem& problem, std::string library)
    : _problem(problem), _options(options_for(std::move(library))),
      _model(problem.network, _options, limits_for(problem.ranks())) {}

double NativeCalls::seconds(const Placement& placement) {
  double sum = 0;
  for (const Call& call : _calls) {
    const planner::Problem ranks = on_ranks(_problem, call, placement);
    const HostId first = ranks.placement.front();
    if (std::ranges::all_of(ranks.placement, [&](HostId host) { return host == first; })) continue;
    sum += calls_of_a_rank(_problem, call) * _model.predict(ranks).time.value();
  }
  return sum;
}

NativeMessages native_messages(const Problem& problem, const std::string& library) {
  const Placement any = block(problem);
  NativeMessages found;
  for (const Call& call : problem.calls) {
    const auto messages = messages_of(on_ranks(problem, call, any), call, library);
    if (messages)
      found.entries.insert(found.entries.end(), messages->begin(), messages->end());
    else
      found.others.push_back(call);
  }
  return found;
}

Problem with_native_messages(Problem problem, const std::string& library) {
  if (library.empty()) return problem;
  NativeMessages found = native_messages(problem, library);
  const std::vector<Traffic> own = problem.communication.entries();
  found.entries.insert(found.entries.end(), own.begin(), own.end());
  problem.calls = std::move(found.others);
  problem.communication = Communication(problem.ranks(), std::move(found.entries));
  return problem;
}

} // namespace thalweg::mapping
