#include "planner/native_algorithm.hpp"
#include "planner/passes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

/// The pass that chooses, and what it says about its choice.
namespace thalweg::planner {

namespace {

/// How much longer than the chosen plan another one may be predicted to take to race with it:
/// predictions of one program's calls are off by up to a fifth.
constexpr double second_margin = 1.25;
/// How much longer than a plan native must take that is the same algorithm. Native is measured,
/// where processors are busy, and the plan is simulated.
constexpr double least_gain_as_native = 1.5;
/// How much longer a call may be predicted to take by a plan than by native, in a row of calls.
constexpr double most_loss_in_a_row = 1.05;
/// Candidates that are tried in a row of calls, if the best one loses more there.
constexpr std::size_t most_in_a_row = 5;

std::string ratio(Time time, Time unit) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", time / unit);
  return text.data();
}

std::string to_text(const Candidate& candidate) {
  std::string text = algorithms::to_text(candidate.algorithm, candidate.parameters);
  if (candidate.searched) text += ", improved by search";
  if (candidate.window != candidate.parameters.window)
    text += ", window " + std::to_string(candidate.window);
  return text;
}

std::string not_faster(const Candidate& candidate) {
  return to_text(candidate) + " isn't predicted to be 5 % faster beyond the uncertainty" +
         (candidate.time() ? " (" + units::to_text(*candidate.time()) + ")" : "");
}

/// "native (mpich: ring) predicted 12 ms (uncertainty 4 %)"
std::string to_text(const Native& native) {
  return std::string(native_name) + " (" + native.algorithm + ") " +
         (native.measured ? "measured " : "predicted ") + units::to_text(native.time) +
         " (uncertainty " + std::to_string(std::lround(100 * native.uncertainty)) + " %)";
}

} // namespace

/// Puts the candidate first, too.
void Passes::choose(std::size_t place) {
  const Entrant& entrant = _entrants[place];
  Plan& plan = _explanation.plan;
  plan.algorithm = entrant.candidate.algorithm;
  plan.parameters = entrant.candidate.parameters;
  plan.skeleton = entrant.skeleton;
  plan.predicted = entrant.candidate.time().value_or(Time(0));
  if (is_near_tie(entrant)) plan.times_best = entrant.seconds() / _entrants.front().seconds();
  plan.reason = describe(entrant);
  const auto first = _entrants.begin() + static_cast<std::ptrdiff_t>(place);
  std::rotate(_entrants.begin(), first, first + 1);
}

void Passes::choose() {
  const std::string nothing = nothing_to_plan();
  if (!nothing.empty()) {
    choose_native(nothing);
  } else if (_options.force == native_name) {
    choose_native("it was asked for");
  } else if (_entrants.empty()) {
    choose_native(
        hides_sizes()
            ? "no candidate sends each block straight from the rank that has it to the one "
              "that needs it, and only these two know its size"
            : "no algorithm can do it");
  } else if (!_options.force.empty() || !is_enabled("native")) {
    choose(chosen());
  } else {
    choose_against_native();
  }
  explain();
}

/// Chooses the favourite if it is faster than native. Where ranks may run ahead, calls in a row can
/// be slower by it than by native; then the candidate with the least product of both times counts,
/// or native.
void Passes::choose_against_native() {
  const std::size_t place = favourite();
  Entrant& favourite = _entrants[place];
  if (!is_faster_than_native(favourite)) return choose_native(not_faster(favourite.candidate));
  if (does_as_native(favourite))
    return choose_native(to_text(favourite.candidate) + " is what the library does");
  find_in_a_row(favourite);
  if (favourite.in_a_row <= most_loss_in_a_row * native().in_a_row) return choose(place);
  std::optional<std::size_t> least;
  for (std::size_t i = 0; i < std::min(_entrants.size(), most_in_a_row); ++i) {
    Entrant& entrant = _entrants[i];
    if (!is_faster_than_native(entrant)) break;
    if (does_as_native(entrant)) continue;
    find_in_a_row(entrant);
    if (entrant.in_a_row > Time(0) && (!least || entrant.product() < _entrants[*least].product()))
      least = i;
  }
  if (least && _entrants[*least].product() <= native().time.value() * native().in_a_row.value())
    return choose(*least);
  choose_native(to_text(favourite.candidate) + " loses more" + in_a_row(favourite) +
                " than it gains in a single one");
}

/// Returns the place of the candidate to choose, or of the best one if only that one wins against
/// native: what is as good as the best takes up to 2 % longer, or is what the library does.
std::size_t Passes::favourite() const {
  const auto wins = [&](const Entrant& entrant) {
    return is_faster_than_native(entrant) && !does_as_native(entrant);
  };
  const std::size_t place = chosen();
  return wins(_entrants[place]) || !wins(_entrants.front()) ? place : 0;
}

bool Passes::is_faster_than_native(const Entrant& entrant) const {
  return entrant.seconds() <= native().to_beat().value();
}

/// Whether a candidate is the library's own algorithm for all ranks, which wasn't measured to be
/// much slower.
bool Passes::does_as_native(const Entrant& entrant) const {
  if (native().time.value() >= least_gain_as_native * entrant.seconds()) return false;
  const auto is_same = [&](const NativeAlgorithm& algorithm) {
    if (to_text(algorithm) != native().algorithm || algorithm.phases.size() != 1) return false;
    const Phase& phase = algorithm.phases.front();
    return phase.level == Level::all && phase.collective.kind == _problem.collective.kind &&
           phase.choice.algorithm == entrant.candidate.algorithm &&
           algorithms::make_skeleton(algorithms::find(phase.choice.algorithm), _problem,
                                     phase.choice.parameters) == entrant.skeleton;
  };
  return std::ranges::any_of(native_algorithms(_problem, _options.library), is_same);
}

void Passes::find_in_a_row(Entrant& entrant) const {
  if (native().in_a_row > Time(0) && !(entrant.in_a_row > Time(0)))
    entrant.in_a_row = judge_in_a_row(_problem, entrant.skeleton, _limits, _options.window);
}

/// " in a row of calls (2 us each, native 1 us)"
std::string Passes::in_a_row(const Entrant& entrant) const {
  return " in a row of calls (" + units::to_text(entrant.in_a_row) + " each, native " +
         units::to_text(native().in_a_row) + ")";
}

void Passes::choose_native(const std::string& why) {
  Plan& plan = _explanation.plan;
  plan.algorithm = native_name;
  plan.predicted = native().time;
  plan.reason = "native: " + why;
  if (!native().algorithm.empty()) plan.reason += "; " + to_text(native());
}

std::string Passes::describe(const Entrant& entrant) const {
  const bounds::Bound& bound = _explanation.plan.bound;
  std::string text = to_text(entrant.candidate);
  if (!_options.force.empty()) text += ", as asked for";
  if (const auto time = entrant.candidate.time()) {
    text += ": predicted " + units::to_text(*time);
    if (bound.time.value() > 0)
      text += ", " + ratio(*time, bound.time) + "x of the bound " + units::to_text(bound.time) +
              " (" + bound.reason + ")";
  }
  text += hardly_slower(entrant);
  if (is_enabled("native")) text += "; " + to_text(_explanation.plan.native);
  if (entrant.in_a_row > Time(0)) text += ";" + in_a_row(entrant);
  if (is_beyond_runtime(entrant))
    text += "; the runtime can't execute it, since only its two ends know the size of a block";
  else if (hides_sizes())
    text += "; blocks go straight, since only their two ends know their sizes";
  return text;
}

/// "; hardly slower than ring (1.9 ms), whose busiest rank has 12 times as many messages"
std::string Passes::hardly_slower(const Entrant& entrant) const {
  const Entrant& best = _entrants.front();
  if (!is_near_tie(entrant)) return "";
  std::string text = "; hardly slower than " + to_text(best.candidate) + " (" +
                     units::to_text(*best.candidate.time()) + ")";
  if (!entrant.is_simulated() || !best.is_simulated()) return text; // too many to be counted
  const double times = busiest_messages(best) / busiest_messages(entrant);
  if (times >= many_times)
    text += ", whose busiest rank has " + std::to_string(std::lround(times)) +
            " times as many messages";
  return text;
}

std::string Passes::nothing_to_plan() const {
  const auto& placement = _problem.placement;
  if (placement.size() < 2) return "a single rank has nothing to send";
  const bool one_host = std::all_of(placement.begin(), placement.end(), [&](network::HostId host) {
    return host == placement.front();
  });
  return one_host ? "all ranks are on host " +
                        _problem.network.hosts[static_cast<std::size_t>(placement.front())].name
                  : "";
}

/// Puts the candidates in order: the chosen one if it isn't native, then those with a time by time,
/// with native if it was predicted.
void Passes::explain() {
  auto& candidates = _explanation.candidates;
  for (const Entrant& entrant : _entrants)
    candidates.push_back(entrant.candidate);
  if (!is_enabled("native")) return;
  Candidate native;
  native.algorithm = native_name;
  const Time time = _explanation.plan.native.time;
  const std::string_view judge = best_judge(_options);
  const auto judged = judge == "fluid"  ? &Candidate::fluid
                      : judge == "fast" ? &Candidate::fast
                                        : &Candidate::estimate;
  native.*judged = time;
  const auto later = [&](const Candidate& candidate) {
    return !(candidate.*judged) || *(candidate.*judged) > time;
  };
  candidates.insert(std::find_if(candidates.begin(), candidates.end(), later), native);
}

std::optional<SecondPlan> Passes::second() const {
  const Plan& plan = _explanation.plan;
  const bool is_native = plan.algorithm == native_name;
  if (_options.effort == Effort::estimate || !_options.force.empty() || !nothing_to_plan().empty())
    return std::nullopt;
  const Time longest = is_native ? native().time : plan.predicted * second_margin;
  const Entrant* best = nullptr;
  for (const Entrant& entrant : _entrants) {
    const Candidate& candidate = entrant.candidate;
    if (candidate.algorithm == plan.algorithm || !candidate.time()) continue;
    if (*candidate.time() <= longest && (best == nullptr || entrant.seconds() < best->seconds()))
      best = &entrant;
  }
  if (best == nullptr || is_beyond_runtime(*best)) return std::nullopt;
  return SecondPlan{{best->candidate.algorithm, best->candidate.parameters}, best->skeleton};
}

} // namespace thalweg::planner
