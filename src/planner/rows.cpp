#include "planner/rows.hpp"

#include "planner/unknown_sizes.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace thalweg::planner {

namespace {

using collective::Kind;

/// How many of a ranking's best candidates are kept, for neighbouring classes and other roots, and
/// how many of such candidates are simulated.
constexpr std::size_t ranking_length = 4, shortlist = 3;
/// How much farther from the bound than another root's plan one may be that was made from that
/// root's choices alone.
constexpr double likeness = 1.02;
/// A search for the size where one plan overtakes another stops when their times differ by less
/// than 1 %.
constexpr double edge_height = 1.01;
/// The most ranks that are planned for where sizes aren't known: an alltoall has ranks² of them.
constexpr std::size_t most_with_unknown_sizes = 256;

bool is_native(const Plan& plan) { return plan.algorithm == native_name; }

Choice choice_of(const Plan& plan) { return {plan.algorithm, plan.parameters}; }

void add(std::vector<Choice>& choices, const Choice& choice) {
  if (std::ranges::find(choices, choice) == choices.end()) choices.push_back(choice);
}

std::vector<Choice> ranked_in(const std::vector<PlannedRow>& planned) {
  std::vector<Choice> choices;
  for (const PlannedRow& each : planned)
    for (const Choice& choice : each.ranking)
      add(choices, choice);
  return choices;
}

/// Returns the time of the plan, or of native if that is faster.
Time best_time(const Plan& plan) {
  return plan.native.algorithm.empty() ? plan.predicted
                                       : std::min(plan.predicted, plan.native.time);
}

} // namespace

RowPlanner::RowPlanner(const RowSetting& setting, Kind kind, Rank root)
    : _setting(setting), _kind(kind), _root(root), _limits(setting.limits), _known(class_count()) {
  _limits.memo = &_memo;
}

RootPlans RowPlanner::plan() {
  RootPlans plans = plan_classes(preset().edge_steps);
  plans.unknown_sizes = plan_unknown_sizes(nullptr);
  return plans;
}

RootPlans RowPlanner::plan_from(const RootPlans& other) {
  _other = &other;
  _pool = ranked_in(other.classes);
  RootPlans plans = plan_classes(preset().other_edge_steps);
  if (other.unknown_sizes) plans.unknown_sizes = plan_unknown_sizes(&other.unknown_sizes->ranking);
  return plans;
}

RootPlans RowPlanner::plan_like(const RootPlans& alike) {
  _other = &alike;
  std::vector<PlannedRow> rows;
  for (const PlannedRow& row : alike.rows) {
    const std::size_t middle = (row.first_class + row.last_class) / 2;
    const Choice there = choice_of(row.plan);
    rows.push_back(
        plan_class(middle, &alike.classes[middle].ranking, &there, as_good_as_there(middle)));
    rows.back().first_class = row.first_class;
    rows.back().last_class = row.last_class;
    rows.back().begin = row.begin;
  }
  const bool same = std::ranges::equal(
      rows, alike.rows, {}, [](const PlannedRow& row) { return choice_of(row.plan); },
      [](const PlannedRow& row) { return choice_of(row.plan); });
  rows = merged(std::move(rows));
  if (!same) find_edges(rows, preset().other_edge_steps);
  RootPlans plans{{}, std::move(rows)};
  if (alike.unknown_sizes) plans.unknown_sizes = copy(*alike.unknown_sizes, assumed_size);
  return plans;
}

RootPlans RowPlanner::copy(const RootPlans& alike) const {
  RootPlans copied;
  for (const PlannedRow& row : alike.rows)
    copied.rows.push_back(copy(row, size(row.first_class)));
  if (alike.unknown_sizes) copied.unknown_sizes = copy(*alike.unknown_sizes, assumed_size);
  return copied;
}

PlannedRow RowPlanner::copy(const PlannedRow& alike, Size size) const {
  PlannedRow own{alike.first_class, alike.last_class, alike.begin, {}};
  own.plan.algorithm = alike.plan.algorithm;
  own.plan.parameters = alike.plan.parameters;
  own.plan.native = alike.plan.native;
  if (is_native(own.plan))
    own.plan.predicted = own.plan.native.time;
  else
    own.plan.skeleton = algorithms::make_skeleton(algorithms::find(own.plan.algorithm),
                                                  problem(size), own.plan.parameters);
  return own;
}

/// @param only the candidates; null: all
std::optional<PlannedRow> RowPlanner::plan_unknown_sizes(const Choices* only) const {
  if (!may_hide_sizes(_kind) || _setting.placement.size() > most_with_unknown_sizes)
    return std::nullopt;
  Limits limits = _limits;
  limits.memo = nullptr; // Its times are those of equal blocks.
  limits.only = only;
  Passes passes(with_uneven_blocks(problem(assumed_size), assumed_size), _setting.options, limits);
  passes.run();
  PlannedRow row{0, 0, 1, {}, passes.ranking(ranking_length)};
  const bool has_rival = _setting.options.force.empty() && is_enabled(_setting.options, "native");
  Explanation found = passes.take();
  row.plan = has_rival ? best_for_all_sizes(found, problem(assumed_size), _setting.options, limits)
                       : std::move(found.plan);
  return row;
}

std::size_t RowPlanner::class_count() const {
  return _kind == Kind::barrier ? 1 : _setting.classes.size();
}

Problem RowPlanner::problem(Size size) const {
  return {.collective = {.kind = _kind,
                         .ranks = static_cast<Rank>(_setting.placement.size()),
                         .root = _root,
                         .size = _kind == Kind::barrier ? 0 : size},
          .network = _setting.network,
          .placement = _setting.placement,
          .cost = network::message_cost(_setting.network, _setting.options.library),
          .cache = _limits.cache};
}

RootPlans RowPlanner::plan_classes(int edge_steps) {
  _planned.resize(class_count());
  _planned.front() = plan_anchor(0, nullptr);
  if (_planned.size() > 1) {
    const Choice before = choice_of(_planned.front().plan);
    _planned.back() = plan_anchor(_planned.size() - 1, &before);
    plan_between(0, _planned.size() - 1);
    smooth();
  }
  RootPlans plans{_planned, merged(std::move(_planned))};
  find_edges(plans.rows, edge_steps);
  return plans;
}

void RowPlanner::plan_between(std::size_t low, std::size_t high) {
  if (high - low < 2) return;
  const std::size_t at = (low + high) / 2;
  const Choice before = choice_of(_planned[low].plan);
  const Choices choices = ranked_in({_planned[low], _planned[high]});
  const Time enough = least_time(low, at, high) * preset().enough;
  _planned[at] = plan_class(at, &choices, &before, enough);
  const Time found = _planned[at].plan.predicted;
  if (found > std::max(enough, known(at).bound.time * preset().enough) && high - low > 2)
    _planned[at] = plan_anchor(at, &before);
  plan_between(low, at);
  plan_between(at, high);
}

/// Returns a time below which no plan for a class is to be expected, by those of others.
Time RowPlanner::least_time(std::size_t low, std::size_t at, std::size_t high) const {
  const double part = static_cast<double>(size(at)) / static_cast<double>(size(high));
  return std::max(best_time(_planned[low].plan), best_time(_planned[high].plan) * part);
}

PlannedRow RowPlanner::plan_anchor(std::size_t at, const Choice* before) {
  if (_other != nullptr) {
    const Time enough = as_good_as_there(at);
    PlannedRow planned = plan_class(at, &_pool, before, enough);
    if (planned.plan.predicted <= enough) return planned;
  }
  return plan_class(at, nullptr, before, Time(0));
}

/// Returns the time that is as near to the bound as the other root's plan.
Time RowPlanner::as_good_as_there(std::size_t at) {
  const Plan& there = _other->classes[at].plan;
  if (!(there.bound.time > Time(0))) return Time::infinity();
  return known(at).bound.time * (likeness * (there.predicted / there.bound.time));
}

const Known& RowPlanner::known(std::size_t at) {
  std::optional<Known>& known = _known[at];
  if (known) return *known;
  known.emplace();
  if (is_enabled(_setting.options, "bound")) known->bound = bounds::bound(problem(size(at)));
  if (is_enabled(_setting.options, "native"))
    known->native = _limits.native->predict(problem(size(at)));
  return *known;
}

/// @param only the candidates, few of which are simulated; null: all
PlannedRow RowPlanner::plan_class(std::size_t at, const Choices* only, const Choice* before,
                                  Time enough) {
  const Problem wanted = problem(size(at));
  Limits limits = _limits;
  limits.preferred = before;
  limits.only = only;
  limits.known = &known(at);
  limits.enough = enough;
  PlanOptions options = _setting.options;
  if (only != nullptr) { // The choices are few: the best simulation sees the likeliest.
    options.finalists = shortlist;
    limits.preset.rival_margin = 0;
    for (const char* pass : {"fast", "search"})
      if (pass != best_judge(_setting.options)) options.disabled.emplace_back(pass);
  }
  Passes passes(wanted, options, limits);
  passes.run();
  std::vector<Choice> ranking = passes.ranking(ranking_length);
  return {at, at, _setting.classes[at].min, passes.take().plan, std::move(ranking)};
}

Time RowPlanner::time(const Plan& plan, Size size) const {
  return judge(problem(size), plan.skeleton, _setting.options, _limits);
}

/// Returns the time that another plan must be predicted to take at most to replace this one.
Time RowPlanner::to_beat(const Plan& plan, Size size) const {
  return is_native(plan) ? _limits.native->predict(problem(size)).to_beat() : time(plan, size);
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
  const Time found = time(other.plan, size(own.first_class));
  if (!(found < (is_native(own.plan) ? own.plan.native.to_beat() : own.plan.predicted))) return;
  bounds::Bound bound = std::move(own.plan.bound);
  Native native = std::move(own.plan.native);
  own.plan = other.plan;
  own.plan.bound = std::move(bound);
  own.plan.native = std::move(native);
  own.plan.predicted = found;
}

std::vector<PlannedRow> RowPlanner::merged(std::vector<PlannedRow> planned) {
  std::vector<PlannedRow> rows;
  for (PlannedRow& next : planned) {
    if (rows.empty() || rows.back().plan.algorithm != next.plan.algorithm ||
        !(rows.back().plan.skeleton == next.plan.skeleton))
      rows.push_back(std::move(next));
    else
      rows.back().last_class = next.last_class;
  }
  return rows;
}

void RowPlanner::find_edges(std::vector<PlannedRow>& rows, int steps) const {
  rows.front().begin = 1;
  for (std::size_t i = 1; i < rows.size(); ++i)
    rows[i].begin = edge(rows[i - 1], rows[i], steps);
}

/// Returns the size from which the second plan is faster: where both take the same time, or where
/// one of them jumps because it needs another segment.
Size RowPlanner::edge(const PlannedRow& first, const PlannedRow& second, int steps) const {
  Size low = size(first.last_class), high = size(second.first_class);
  for (int step = 0; step < steps && high - low > 1; ++step) {
    const auto middle = static_cast<Size>(
        std::llround(std::sqrt(static_cast<double>(low) * static_cast<double>(high))));
    if (middle <= low || middle >= high) break;
    const Time before = to_beat(first.plan, middle), after = to_beat(second.plan, middle);
    (after < before ? high : low) = middle;
    if (after < before * edge_height && before < after * edge_height) return middle;
  }
  return high;
}

} // namespace thalweg::planner
