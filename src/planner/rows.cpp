#include "planner/rows.hpp"

#include "planner/unknown_sizes.hpp"
#include "simulator/estimate.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <iterator>
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
/// How much farther it must be for all candidates to be compared anew.
constexpr double unlikeness = 1.05;
/// How much above what its neighbours' times let expect the plan of a class may be that is made
/// from their choices.
constexpr double above_chord = 1.02;
/// The most ranks that are planned for where sizes aren't known: an alltoall has ranks² of them.
constexpr std::size_t most_with_unknown_sizes = 256;
/// How many times as often rates change where blocks are uneven, so that few messages end together.
constexpr double uneven_changes = 8;

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
  plans.root = _root;
  return plans;
}

RootPlans RowPlanner::plan_from(const RootPlans& other, bool alike) {
  _pool = ranked_in(other.planned);
  look_for_mirror(other.root);
  for (const PlannedRow& row : other.rows)
    if (_mirror && take_mirrored(row))
      continue;
    else if (alike)
      plan_row_like(row, other);
    else
      plan_row_from(row, other);
  RootPlans plans{_planned, merged(std::move(_planned))};
  plans.root = _root;
  find_edges(plans.rows, preset().other_edge_steps, &other.rows);
  if (other.unknown_sizes)
    plans.unknown_sizes = alike || _mirror ? copy(*other.unknown_sizes, assumed_size)
                                           : plan_unknown_sizes(&other.unknown_sizes->ranking);
  return plans;
}

void RowPlanner::look_for_mirror(Rank root) {
  _mirror = Mirror::find(_setting.network, _setting.placement, root, _root);
}

/// Returns the skeleton of another root's choice for this one: exchanged, or else built anew.
/// @param there the other root's skeleton
Skeleton RowPlanner::skeleton_like(const Choice& choice, const Skeleton& there, Size size) const {
  if (_mirror && there.transfers.empty()) return (*_mirror)(there);
  return algorithms::make_skeleton(algorithms::find(choice.algorithm), problem(size),
                                   choice.parameters);
}

/// Takes another root's row if its plan is estimated to be as near to the bound here, where
/// messages of a step may come in another order, and if it is faster than native. Returns whether
/// it did.
bool RowPlanner::take_mirrored(const PlannedRow& row) {
  if (is_native(row.plan)) return false;
  const std::size_t at = row.first_class;
  PlannedRow own = row;
  own.plan.skeleton = skeleton_like(choice_of(row.plan), row.plan.skeleton, size(at));
  if (own.second)
    own.second->skeleton = skeleton_like(row.second->choice, row.second->skeleton, size(at));
  own.plan.predicted = row.plan.predicted * (estimate(own.plan.skeleton, size(at)) /
                                             estimate(row.plan.skeleton, size(at)));
  own.plan.bound = known(at).bound;
  own.plan.native = known(at).native;
  const bool beats_native = !_setting.options.force.empty() || own.plan.native.algorithm.empty() ||
                            own.plan.predicted <= own.plan.native.to_beat();
  if (!beats_native || !(own.plan.predicted <= as_good_as(row.plan, at))) return false;
  // A plan for the smallest size of a row may suit larger ones less than one built for these.
  if (const std::size_t middle = (row.first_class + row.last_class) / 2; middle != at) {
    const Skeleton built = algorithms::make_skeleton(algorithms::find(row.plan.algorithm),
                                                     problem(size(middle)), row.plan.parameters);
    if (estimate(own.plan.skeleton, size(middle)) > likeness * estimate(built, size(middle)))
      return false;
  }
  own.times = in_proportion(row.times, predicted_times(own.plan, size(at)));
  _planned.push_back(std::move(own));
  return true;
}

/// Plans the middle of another root's row.
void RowPlanner::plan_row_like(const PlannedRow& row, const RootPlans& other) {
  const std::size_t middle = (row.first_class + row.last_class) / 2;
  PlannedRow planned = plan_from(other, middle, true);
  const bool is_same = choice_of(planned.plan) == choice_of(row.plan);
  planned.times = in_proportion(row.times, planned.times.front());
  for (PredictedTimes& times : planned.times)
    if (is_native(planned.plan))
      times.plan_ns = times.native_ns;
    else if (!is_same && times.size != size(middle))
      times.plan_ns = 0;
  planned.first_class = row.first_class;
  planned.last_class = row.last_class;
  planned.begin = row.begin;
  _planned.push_back(std::move(planned));
}

/// Plans both ends of another root's row, and what is between two classes unless both take the
/// row's choice.
void RowPlanner::plan_row_from(const PlannedRow& row, const RootPlans& other) {
  const Choice there = choice_of(row.plan);
  std::vector<PlannedRow> later = {plan_from(other, row.last_class, false)}; // the next one last
  PlannedRow own = row.first_class < row.last_class ? plan_from(other, row.first_class, false)
                                                    : std::move(later.back());
  if (row.first_class == row.last_class) later.clear();
  own.begin = row.begin;
  while (!later.empty()) {
    const PlannedRow& next = later.back();
    const std::size_t left = next.first_class - own.first_class;
    if (left > 1 && !(choice_of(own.plan) == there && choice_of(next.plan) == there)) {
      later.push_back(plan_from(other, own.first_class + left / 2, false));
      continue;
    }
    own.last_class = next.first_class - 1;
    _planned.push_back(std::exchange(own, std::move(later.back())));
    later.pop_back();
  }
  _planned.push_back(std::move(own));
}

/// Plans a class that was planned for another root.
PlannedRow RowPlanner::plan_from(const RootPlans& other, std::size_t at, bool alike) {
  const PlannedRow& same = *std::ranges::find_if(
      other.planned, [&](const PlannedRow& each) { return each.last_class >= at; });
  const Choice there = choice_of(same.plan);
  const Time enough = as_good_as(same.plan, at);
  Choices choices;
  if (!is_native(same.plan)) choices.push_back(there);
  PlannedRow planned = plan_class(at, &choices, &there, enough);
  const auto widen = [&](const Choices* only, Time limit) {
    if (!(planned.plan.predicted > limit)) return;
    const Choice best = choice_of(planned.plan);
    planned = plan_class(at, only, &there, enough, &best);
  };
  for (const Choice& choice : same.ranking)
    add(choices, choice);
  widen(&choices, enough);
  widen(&_pool, enough);
  if (!alike) widen(nullptr, enough * unlikeness);
  return planned;
}

RootPlans RowPlanner::copy(const RootPlans& alike) {
  look_for_mirror(alike.root);
  RootPlans copied;
  copied.root = _root;
  for (const PlannedRow& row : alike.rows)
    copied.rows.push_back(copy(row, size(row.first_class)));
  if (alike.unknown_sizes) copied.unknown_sizes = copy(*alike.unknown_sizes, assumed_size);
  return copied;
}

PlannedRow RowPlanner::copy(const PlannedRow& alike, Size size) const {
  PlannedRow own{alike.first_class, alike.last_class, alike.begin, {}};
  for (const PredictedTimes& times : alike.times)
    own.times.push_back({.size = times.size, .native_ns = times.native_ns});
  own.plan.algorithm = alike.plan.algorithm;
  own.plan.parameters = alike.plan.parameters;
  own.plan.native = alike.plan.native;
  if (!is_native(own.plan)) {
    own.plan.skeleton = skeleton_like(choice_of(alike.plan), alike.plan.skeleton, size);
    return own;
  }
  own.plan.predicted = own.plan.native.time;
  for (PredictedTimes& times : own.times)
    times.plan_ns = times.native_ns;
  return own;
}

/// @param only the candidates; null: all
std::optional<PlannedRow> RowPlanner::plan_unknown_sizes(const Choices* only) const {
  if (!may_hide_sizes(_kind) || _setting.placement.size() > most_with_unknown_sizes)
    return std::nullopt;
  Limits limits = _limits;
  limits.memo = nullptr; // Its times are those of equal blocks.
  limits.only = only;
  limits.preset.finalist_flows /= uneven_changes;
  NativeModel native(_setting.network, _setting.options, limits); // by the same judge
  limits.native = &native;
  Passes passes(with_uneven_blocks(problem(assumed_size), assumed_size), _setting.options, limits);
  passes.run();
  PlannedRow row{0, 0, 1, {}, passes.ranking(ranking_length)};
  const bool has_rival = _setting.options.force.empty() && is_enabled(_setting.options, "native");
  Explanation found = passes.take();
  row.plan = has_rival ? best_for_all_sizes(found, problem(assumed_size), _setting.options, limits)
                       : std::move(found.plan);
  row.times = {predicted_times(row.plan, assumed_size)};
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
  _planned.front() = plan_class(0, nullptr, nullptr, Time(0));
  if (_planned.size() > 1) {
    const Choice before = choice_of(_planned.front().plan);
    _planned.back() = plan_class(_planned.size() - 1, nullptr, &before, Time(0));
    plan_between(0, _planned.size() - 1);
    std::erase_if(_planned, [](const PlannedRow& row) { return row.plan.algorithm.empty(); });
    smooth();
  }
  RootPlans plans{_planned, merged(std::move(_planned))};
  find_edges(plans.rows, edge_steps, nullptr);
  return plans;
}

void RowPlanner::plan_between(std::size_t low, std::size_t high) {
  if (high - low < 2) return;
  const std::size_t at = (low + high) / 2;
  const Choice before = choice_of(_planned[low].plan);
  // Where both neighbours choose the same, so does the class between them.
  if (high - low == 2 && choice_of(_planned[high].plan) == before) {
    _planned[low].last_class = at;
    return;
  }
  const Choices choices = ranked_in({_planned[low], _planned[high]});
  const Time enough = least_time(low, at, high) * above_chord;
  _planned[at] = plan_class(at, &choices, &before, enough, &before);
  const Plan& found = _planned[at].plan;
  if (found.predicted > std::max(enough, known(at).bound.time * preset().enough) &&
      high - low > 2) {
    const Choice best = choice_of(found);
    _planned[at] = plan_class(at, nullptr, &before, Time(0), &best);
  }
  plan_between(low, at);
  plan_between(at, high);
}

/// Returns a time below which no plan for a class is to be expected, by those of others: between
/// sizes at which times that grow linearly are the least, the least one lies above their chord.
Time RowPlanner::least_time(std::size_t low, std::size_t at, std::size_t high) const {
  const Time less = best_time(_planned[low].plan), more = best_time(_planned[high].plan);
  const double part =
      static_cast<double>(size(at) - size(low)) / static_cast<double>(size(high) - size(low));
  return std::max(less, less + (more - less) * part);
}

/// Returns the time that is as near to the bound as another root's plan for the same class.
Time RowPlanner::as_good_as(const Plan& there, std::size_t at) {
  if (!(there.bound.time > Time(0))) return Time::infinity();
  return known(at).bound.time * (likeness * (there.predicted / there.bound.time));
}

const Known& RowPlanner::known(std::size_t at) {
  std::optional<Known>& known = _known[at];
  if (known) return *known;
  known.emplace();
  if (is_enabled(_setting.options, "bound")) known->bound = bounds::bound(problem(size(at)));
  if (is_enabled(_setting.options, "native")) known->native = native(size(at));
  return *known;
}

const Native& RowPlanner::native(Size size) {
  const auto [found, is_new] = _natives.try_emplace(size);
  if (is_new) found->second = _limits.native->predict(problem(size));
  return found->second;
}

/// @param only the candidates, few of which are simulated; null: all
PlannedRow RowPlanner::plan_class(std::size_t at, const Choices* only, const Choice* before,
                                  Time enough, const Choice* first) {
  const Problem wanted = problem(size(at));
  Limits limits = _limits;
  limits.preferred = before;
  limits.first = first;
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
  std::optional<SecondPlan> second = passes.second();
  Plan plan = passes.take().plan;
  const PredictedTimes times = predicted_times(plan, wanted.collective.size);
  return {
      at,     at, _setting.classes[at].min, std::move(plan), std::move(ranking), std::move(second),
      {times}};
}

} // namespace thalweg::planner
