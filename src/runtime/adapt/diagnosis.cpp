#include "runtime/adapt/diagnosis.hpp"

#include "runtime/adapt/call_row.hpp"
#include "runtime/adapt/explanation.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace thalweg::runtime {
namespace {

constexpr std::size_t most_shapes = 8;
/// More ranks than this are planned for by the quick estimate.
constexpr std::size_t few_ranks = 64;
/// The share of the time of a shape's calls that other plans must save.
constexpr double least_saved = 0.05;
/// How many plans are simulated with the calls before and after them.
constexpr std::size_t most_compared = 8;

algorithms::Problem problem_of(const Observations& seen, const Network& network,
                               const CalledShape& shape) {
  return algorithms::make_problem(seen.collective_of(shape.key, shape.size), network,
                                  seen.placement, seen.library);
}

/// Whether ranks may be in several calls at a time, so that one call's time doesn't tell how long
/// many take.
bool run_ahead(const CalledShape& shape) { return collective::is_rooted(shape.key.kind); }

/// Says how long calls of a shape take.
class Timer {
public:
  /// `seen`, `network` and `is_cancelled` must outlive it.
  Timer(const Observations& seen, const Network& network, const CalledShape& shape,
        const std::atomic<bool>& is_cancelled)
      : _network(network), _problem(problem_of(seen, network, shape)) {
    if (run_ahead(shape)) _row.emplace(seen, shape, is_cancelled);
    if (_row && _row->is_too_large()) _row.reset();
  }
  [[nodiscard]] CallSeconds time_with(const algorithms::Skeleton& plan) const {
    if (_row) return _row->seconds_with(plan, _network);
    simulator::SimulationOptions options;
    options.max_messages = 16'000;
    const double seconds = simulator::simulate(_problem, plan, options).time.value();
    return {seconds, seconds, seconds};
  }
  [[nodiscard]] bool has_row() const { return _row.has_value(); }
  [[nodiscard]] const algorithms::Problem& problem() const { return _problem; }

private:
  const Network& _network;
  algorithms::Problem _problem;
  /// If ranks may be in several calls at a time, and it isn't too large.
  std::optional<CallRow> _row;
};

/// A plan for a shape, and how long calls take with it.
struct Timed {
  algorithms::Skeleton plan;
  CallSeconds seconds;
};

/// Returns the best plan of each of the algorithms that come first among all candidates.
std::vector<algorithms::Skeleton> finalists(const algorithms::Problem& problem,
                                            const planner::Explanation& explanation) {
  std::vector<algorithms::Skeleton> plans = {explanation.plan.skeleton};
  for (const planner::Candidate& candidate : explanation.candidates) {
    if (plans.size() == most_compared) break;
    const bool can_be_built = candidate.algorithm != planner::native_name && candidate.time() &&
                              !candidate.searched && !candidate.given;
    if (!can_be_built || std::ranges::find(plans, candidate.algorithm,
                                           &algorithms::Skeleton::algorithm) != plans.end())
      continue;
    plans.push_back(algorithms::make_skeleton(algorithms::find(candidate.algorithm), problem,
                                              candidate.parameters));
  }
  return plans;
}

/// Returns the finalist with which calls take least; one that takes for ever if it is cancelled.
Timed best_of(const Timer& timer, const planner::Explanation& explanation,
              const std::atomic<bool>& is_cancelled) {
  std::vector<algorithms::Skeleton> plans = {explanation.plan.skeleton};
  if (timer.has_row()) plans = finalists(timer.problem(), explanation);
  Timed best{{}, {.all = std::numeric_limits<double>::infinity()}};
  for (algorithms::Skeleton& plan : plans) {
    if (is_cancelled) break;
    if (const CallSeconds seconds = timer.time_with(plan); seconds.all < best.seconds.all)
      best = {std::move(plan), seconds};
  }
  return best;
}

/// Whether a plan saves time on the mean of the network before and the changed one.
/// @param saved seconds of the calls that it saves on the changed one
/// @param of_shape seconds of the shape's calls there, with the plan in force
bool saves_on_both(const Observations& seen, const CalledShape& shape,
                   const algorithms::Skeleton& before, const algorithms::Skeleton& after,
                   double saved, double of_shape, const std::atomic<bool>& is_cancelled) {
  const Timer usually(seen, seen.network, shape, is_cancelled);
  const CallSeconds usual = usually.time_with(before);
  const double saved_usually = usual.all - usually.time_with(after).all;
  return saved + saved_usually >= least_saved * (of_shape + usual.of_shape);
}

/// Plans a shape for the changed network. Throws planner::Cancelled.
void replan_shape(const Observations& seen, const CalledShape& shape, Replan& result,
                  const std::atomic<bool>& is_cancelled) {
  const std::shared_ptr<const planner::Entry> old =
      seen.table.find(shape.key.kind, shape.key.root, shape.size);
  if (old == nullptr || old->native) return;
  planner::PlanOptions options;
  options.library = seen.library;
  options.threads = 1; // The program's own have the processors.
  options.is_cancelled = [&is_cancelled] { return is_cancelled.load(); };
  if (seen.placement.size() > few_ranks) options.effort = planner::Effort::estimate;
  const Timer timer(seen, result.network, shape, is_cancelled);
  const planner::Explanation found = planner::explain(timer.problem(), options);
  if (found.plan.algorithm == planner::native_name) return; // The race decides on that.
  const CallSeconds before = timer.time_with(old->skeleton);
  Timed best = best_of(timer, found, is_cancelled);
  // Its calls may be too few to be among those that count.
  const double saved = before.all - best.seconds.all;
  if (before.of_shape <= 0 || saved < least_saved * before.of_shape) return;
  result.suits_both = result.suits_both && saves_on_both(seen, shape, old->skeleton, best.plan,
                                                         saved, before.of_shape, is_cancelled);
  const auto ns = [](double seconds) { return static_cast<std::int64_t>(seconds * 1e9); };
  result.changes.push_back({.key = shape.key,
                            .size = shape.size,
                            .before = old->skeleton.algorithm,
                            .after = best.plan.algorithm,
                            .before_ns = ns(before.call),
                            .after_ns = ns(best.seconds.call)});
  planner::Entry entry = *old;
  entry.skeleton = std::move(best.plan);
  entry.times = {planner::predicted_times(found.plan, shape.size)};
  entry.times.front().plan_ns = ns(best.seconds.call);
  planner::set_native(entry, found.plan.native);
  entry.min_size = shape.key.class_begin();
  result.table.entries.push_back(std::move(entry));
}

/// A plan is for a class of sizes: it is made for the first one of these.
void keep_one_of_each_class(std::vector<CalledShape>& shapes) {
  std::vector<CalledShape> kept;
  for (const CalledShape& shape : shapes)
    if (std::ranges::none_of(
            kept, [&](const CalledShape& each) { return each.key.is_of_same_class(shape.key); }))
      kept.push_back(shape);
  shapes = std::move(kept);
}

/// Explains and plans as replan() does. What it returns counts only if it wasn't cancelled: some of
/// the simulations may have ended early. Throws planner::Cancelled.
Replan replan_all(const Observations& seen, const std::atomic<bool>& is_cancelled) {
  Replan result;
  if (seen.purpose == Purpose::improvement) {
    result.network = seen.network;
    result.table.placement = seen.placement;
    replan_shape(seen, seen.shape, result, is_cancelled);
    return result;
  }
  std::optional<Explanation> found = explain(seen, is_cancelled);
  if (is_cancelled) return result;
  if (!found) {
    result.is_too_large = CallRow(seen, is_cancelled).is_too_large();
    return result;
  }
  result.is_explained = true;
  result.causes = std::move(found->causes);
  result.quantity = found->quantity;
  result.network = std::move(found->network);
  result.is_recovery = seen.purpose == Purpose::recovery;
  if (result.is_recovery) return result;
  result.table.placement = seen.placement;
  result.suits_both = true;
  std::vector<CalledShape> shapes = seen.others;
  std::ranges::stable_sort(shapes, std::ranges::greater(), [](const CalledShape& shape) {
    return static_cast<double>(shape.calls) * static_cast<double>(shape.size + 1);
  });
  shapes.insert(shapes.begin(), seen.shape);
  keep_one_of_each_class(shapes);
  if (shapes.size() > most_shapes) shapes.resize(most_shapes);
  for (const CalledShape& shape : shapes) {
    if (is_cancelled) break;
    replan_shape(seen, shape, result, is_cancelled);
  }
  result.table.sort();
  return result;
}

} // namespace

Replan replan(const Observations& seen, const std::atomic<bool>& is_cancelled) {
  try {
    Replan found = replan_all(seen, is_cancelled);
    return is_cancelled ? Replan{} : std::move(found);
  } catch (const planner::Cancelled&) {
    return {};
  }
}

void put_plan(planner::Table& table, const RaceKey& key, const planner::Entry& wanted) {
  const units::Size begin = key.class_begin(), end = std::max<units::Size>(1, 2 * begin);
  table.own_rows_of_host(key.kind, key.root); // They have raced with the rows that they share.
  const std::shared_ptr<const planner::Entry> after = table.find(key.kind, key.root, end);
  planner::Entry last = after == nullptr // No row means native.
                            ? planner::Entry{.kind = key.kind, .root = key.root, .skeleton = {}}
                            : *after;
  std::erase_if(table.entries, [&](const planner::Entry& row) {
    return row.kind == key.kind && row.root == key.root && row.min_size >= begin &&
           row.min_size < end;
  });
  planner::Entry first = wanted;
  first.min_size = begin;
  table.insert(std::move(first));
  if (last.min_size < end) {
    last.min_size = end;
    table.insert(std::move(last));
  }
}

void put_plans(planner::Table& table, const planner::Table& changes) {
  for (const planner::Entry& row : changes.entries)
    put_plan(table, key_of(row.kind, row.root, row.min_size), row);
}

} // namespace thalweg::runtime
