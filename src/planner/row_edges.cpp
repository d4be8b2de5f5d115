#include "planner/crossing.hpp"
#include "planner/rows.hpp"
#include "simulator/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

/// Where one plan of a table gives way to the next one.
namespace thalweg::planner {

namespace {

/// A search for the size where one plan overtakes another counts more than 1.5 times as long as
/// that.
constexpr double most_lead = 1.5;

/// Whether the choices of two rows meet in `rows` too, between the same classes.
bool meet(const PlannedRow& first, const PlannedRow& second, const std::vector<PlannedRow>& rows) {
  const auto found = std::ranges::find(rows, second.first_class, &PlannedRow::first_class);
  return found != rows.end() && found != rows.begin() &&
         choice_of(found->plan) == choice_of(second.plan) &&
         choice_of(std::prev(found)->plan) == choice_of(first.plan);
}

/// Returns the logarithm of a ratio, within what counts.
double logarithm(Time time, Time other) {
  const double ratio = time / other;
  return std::isnan(ratio) ? 0 : std::log(std::clamp(ratio, 1 / most_lead, most_lead));
}

} // namespace

/// Plans that were chosen by estimates are compared by those that confirmed them.
Time RowPlanner::time(const Plan& plan, Size size, Time give_up) const {
  if (best_judge(_setting.options) == "estimate") return confirmed_time(plan, size, give_up);
  return judge(problem(size), plan.skeleton, _setting.options, _limits, give_up);
}

Time RowPlanner::confirmed_time(const Plan& plan, Size size, Time give_up) const {
  Limits limits = _limits;
  limits.confirms = true;
  return judge(problem(size), plan.skeleton, _setting.options, limits, give_up);
}

/// Returns the time that another plan must be predicted to take at most to replace this one. What
/// was chosen although another one was as good isn't replaced by that one at the next size.
Time RowPlanner::to_beat(const Plan& plan, Size size, Time give_up) {
  if (is_native(plan)) return native(size).to_beat();
  return time(plan, size, give_up * plan.times_best) / plan.times_best;
}

/// Gives each class a neighbour's plan where that is faster, so that a larger message isn't
/// predicted to arrive before a smaller one.
void RowPlanner::smooth() {
  for (std::size_t i = _planned.size(); i-- > 1;)
    if (_planned[i].plan.predicted < _planned[i - 1].plan.predicted)
      take_if_faster(_planned[i - 1], _planned[i]);
  for (std::size_t i = 1; i < _planned.size(); ++i)
    take_if_faster(_planned[i], _planned[i - 1]);
}

void RowPlanner::take_if_faster(PlannedRow& own, const PlannedRow& other) const {
  if (is_native(other.plan) || own.plan.skeleton == other.plan.skeleton) return;
  const Time limit =
      is_native(own.plan) ? own.plan.native.to_beat() : own.plan.predicted / own.plan.times_best;
  const Size here = size(own.first_class);
  if (!(time(other.plan, here, limit * most_lead) < limit)) return;
  const Time found = confirmed_time(other.plan, here, limit);
  if (!(found < limit)) return;
  bounds::Bound bound = std::move(own.plan.bound);
  Native native = std::move(own.plan.native);
  own.plan = other.plan;
  own.plan.bound = std::move(bound);
  own.plan.native = std::move(native);
  own.plan.predicted = found;
  own.plan.times_best = 1;
  own.second = other.second;
  own.times = {predicted_times(own.plan, here)};
}

std::vector<PlannedRow> RowPlanner::merged(std::vector<PlannedRow> planned) {
  std::vector<PlannedRow> rows;
  for (PlannedRow& next : planned) {
    if (rows.empty() || rows.back().plan.algorithm != next.plan.algorithm ||
        !(rows.back().plan.skeleton == next.plan.skeleton))
      rows.push_back(std::move(next));
    else {
      PlannedRow& row = rows.back();
      row.last_class = next.last_class;
      for (const PredictedTimes& times : next.times)
        add(row.times, times);
      if (!row.second) row.second = std::move(next.second);
    }
  }
  return rows;
}

void RowPlanner::find_edges(std::vector<PlannedRow>& rows, int steps,
                            const std::vector<PlannedRow>* known) {
  rows.front().begin = 1;
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (known == nullptr || !meet(rows[i - 1], rows[i], *known))
      rows[i].begin = edge(rows[i - 1], rows[i], steps);
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (is_native(rows[i - 1].plan) || is_native(rows[i].plan)) {
      add_native(rows[i - 1], rows[i].begin - 1);
      add_native(rows[i], rows[i].begin);
    }
}

/// Adds what native takes for a size: rows meet where its time jumps, too.
void RowPlanner::add_native(PlannedRow& row, Size size) {
  const std::int64_t native_ns = nanoseconds(native(size).time);
  add(row.times,
      {.size = size, .plan_ns = is_native(row.plan) ? native_ns : 0, .native_ns = native_ns});
}

double RowPlanner::lead(const Plan& plan, const Plan& other, Size size) {
  const Time own = to_beat(plan, size);
  return logarithm(to_beat(other, size, own * most_lead), own);
}

double RowPlanner::estimated_lead(const Plan& first, const Plan& second, Size size) {
  const auto about = [&](const Plan& plan) {
    return is_native(plan) ? native(size).to_beat() : estimate(plan.skeleton, size);
  };
  return logarithm(about(second), about(first));
}

Time RowPlanner::estimate(const Skeleton& skeleton, Size size) const {
  Problem own = problem(size);
  own.collective.root = skeleton.root;
  return simulator::estimate(own, skeleton, estimation(_setting.options, _limits));
}

/// Returns sizes above `low`, up to `high`, for which the library's rules choose otherwise than for
/// one byte less: one of each octave.
std::vector<Size> RowPlanner::native_jumps(Size low, Size high) const {
  Problem asked = problem(low);
  const auto rules = [&](Size size) {
    asked.collective.size = size;
    std::vector<Choice> chosen;
    for (const NativeAlgorithm& each : native_algorithms(asked, _setting.options.library))
      for (const Phase& phase : each.phases)
        chosen.push_back(phase.choice);
    return chosen;
  };
  std::vector<Size> jumps;
  for (std::vector<Choice> here = rules(low); low < high;) {
    const Size end = std::min(high, 2 * low);
    std::vector<Choice> there = rules(end);
    if (there != here) {
      Size same = low, other = end;
      while (other - same > 1) {
        const Size middle = same + (other - same) / 2;
        (rules(middle) == here ? same : other) = middle;
      }
      jumps.push_back(other);
    }
    low = end;
    here = std::move(there);
  }
  return jumps;
}

/// Returns the size from which the second plan is faster: where both take the same time, or where
/// one of them jumps because it needs another segment, or because the library takes another
/// algorithm. After few simulations between the classes that were planned it follows the estimates,
/// corrected by what these miss of the simulations at both ends.
Size RowPlanner::edge(const PlannedRow& first, const PlannedRow& second, int steps) {
  // At `low` the first plan wins, at `high` the second one: for what was planned there its time is
  // known, and the other one may be given up.
  Crossing crossing{size(first.last_class), size(second.first_class)};
  crossing.low_lead = std::max(0.0, lead(first.plan, second.plan, crossing.low));
  crossing.high_lead = std::max(0.0, lead(second.plan, first.plan, crossing.high));
  const bool may_jump = is_native(first.plan) || is_native(second.plan);
  const bool looks = steps > 0 || preset().edge_estimates > 0;
  const std::vector<Size> jumps = may_jump && looks && crossing.high - crossing.low > 1
                                      ? native_jumps(crossing.low, crossing.high)
                                      : std::vector<Size>{};
  const auto simulated = [&](Size at) { return lead(first.plan, second.plan, at); };
  if (steps > 0)
    for (const Size jump : jumps)
      crossing.look_around(jump, simulated);
  crossing.narrow(steps, simulated);
  if (preset().edge_estimates > 0) {
    const auto estimated = [&](Size at) { return estimated_lead(first.plan, second.plan, at); };
    const Crossing begin = crossing;
    const double low_error = begin.low_lead - estimated(begin.low);
    const double high_error = -begin.high_lead - estimated(begin.high);
    const auto corrected = [&](Size at) {
      return estimated(at) + std::lerp(low_error, high_error, begin.part(at));
    };
    for (const Size jump : jumps)
      crossing.look_around(jump, corrected);
    crossing.narrow(preset().edge_estimates, corrected);
  }
  return crossing.end();
}

} // namespace thalweg::planner
