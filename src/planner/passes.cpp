#include "planner/passes.hpp"

#include "planner/native.hpp"
#include "planner/parallel.hpp"
#include "planner/search.hpp"
#include "schedule/verify.hpp"
#include "simulator/estimate.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>

namespace thalweg::planner {

namespace {

/// Choices of one algorithm in a ranking: its parameters suit another root alike, or not at all.
constexpr std::ptrdiff_t most_of_one = 2;
/// How close to the best one the preferred candidate must be.
constexpr double preferred_margin = 1.02;
/// How much farther from the best an algorithm's likeliest candidate may be than the others before
/// it is given up.
constexpr double first_margin = 2;
/// How much longer than its estimate a candidate that can't be simulated is taken to last.
constexpr double estimate_margin = 1.2;
/// Candidates of one algorithm that fluid judges where connections start slowly, and by how much
/// more than Preset::rival_margin they may be farther from the best: fast takes them for faster
/// than they are, those with few connections most.
constexpr std::ptrdiff_t slow_start_finalists = 12;
constexpr double slow_start_margin = 2;
/// Candidates that a search starts from.
constexpr std::size_t search_starts = 3;
/// Simulated per second of PlanOptions::budget.
constexpr double messages_per_second = 1e6;
/// Messages of the segments that a search simulates.
constexpr std::int64_t search_messages = 2000;

constexpr std::array<const char*, 7> passes_to_disable = {"estimate", "fast",  "fluid", "search",
                                                          "native",   "bound", "verify"};

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

/// "native (mpich: ring) predicted 12 ms (uncertainty 4 %)"
std::string to_text(const Native& native) {
  return std::string(native_name) + " (" + native.algorithm + ") " +
         (native.measured ? "measured " : "predicted ") + units::to_text(native.time) +
         " (uncertainty " + std::to_string(std::lround(100 * native.uncertainty)) + " %)";
}

} // namespace

Passes::Passes(const Problem& problem, const PlanOptions& options, const Limits& limits)
    : _problem(problem), _options(options), _limits(limits) {
  const auto is_forced = [&](const Skeleton& each) { return each.algorithm == options.force; };
  if (!options.force.empty() && options.force != native_name &&
      !std::ranges::any_of(options.given, is_forced) &&
      !algorithms::find(options.force).can_do(problem.collective))
    throw std::invalid_argument("algorithm " + options.force + " can't do a " +
                                std::string(collective::to_text(problem.collective.kind)) + " of " +
                                std::to_string(problem.collective.ranks) +
                                " ranks: choose another with --force or THALWEG_FORCE, or none");
  _problem.cache = limits.cache != nullptr ? limits.cache : &_cache;
  for (const std::string& name : options.disabled)
    if (std::ranges::find(passes_to_disable, name) == passes_to_disable.end())
      throw std::invalid_argument(
          "no pass \"" + name +
          "\" to disable: there are estimate, fast, fluid, search, native, bound and verify");
  algorithms::check(problem);
  if (!options.library.empty() &&
      problem.cost != network::message_cost(problem.network, options.library))
    throw std::invalid_argument("the problem doesn't have the message costs of " + options.library +
                                ": make it for that library");
}

double Passes::Entrant::seconds() const {
  if (!candidate.time()) return std::numeric_limits<double>::infinity();
  return candidate.time()->value() * (too_large && !candidate.fast ? estimate_margin : 1);
}

bool Passes::Entrant::is(const Choice* choice) const {
  return choice != nullptr && !candidate.searched &&
         Choice{candidate.algorithm, candidate.parameters} == *choice;
}

void Passes::run() {
  pass("candidates", [&] { collect(); });
  if (is_enabled("bound")) pass("bound", [&] { find_bound(); });
  if (is_enabled("estimate")) pass("estimate", [&] { estimate(); });
  if (is_enabled("fast")) pass("fast", [&] { predict_fast(); });
  if (is_enabled("fluid")) pass("fluid", [&] { predict_fluid(); });
  if (is_enabled("search")) pass("search", [&] { search(); });
  if (is_enabled("native")) pass("native", [&] { predict_native(); });
  pass("choose", [&] { choose(); });
  if (is_enabled("verify")) pass("verify", [&] { verify(); });
}

void Passes::pass(const char* name, const std::function<void()>& body) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  body();
  const std::chrono::duration<double> time = Clock::now() - begin;
  _explanation.passes.push_back({name, Time(time.count())});
}

void Passes::estimate() {
  const simulator::SimulationOptions options = estimation(_options, _limits);
  for_each_parallel(_entrants.size(), _limits.threads, [&](std::size_t i) {
    Entrant& entrant = _entrants[i];
    entrant.candidate.estimate = simulator::estimate(_problem, entrant.skeleton, options);
  });
  sort();
}

/// Returns nothing for a candidate that takes longer than `give_up`.
std::optional<Time> Passes::predict(const Entrant& entrant, simulator::Fidelity fidelity,
                                    Time give_up) const {
  simulator::SimulationOptions simulation = planner::simulation(_options, _limits, fidelity);
  simulation.give_up = give_up;
  const Time time = simulator::simulate(_problem, entrant.skeleton, simulation, _limits.memo).time;
  return time < Time::infinity() ? std::optional(time) : std::nullopt;
}

void Passes::predict_wave(Wave& wave, simulator::Fidelity fidelity, double margin) const {
  const auto judged = fidelity == simulator::Fidelity::fast ? &Candidate::fast : &Candidate::fluid;
  const Time give_up = wave.shortest * margin;
  for_each_parallel(wave.entrants.size(), _limits.threads, [&](std::size_t i) {
    wave.entrants[i]->candidate.*judged = predict(*wave.entrants[i], fidelity, give_up);
  });
  for (const Entrant* entrant : wave.entrants)
    wave.shortest = std::min(wave.shortest, (entrant->candidate.*judged).value_or(wave.shortest));
  wave.entrants.clear();
}

bool Passes::is_too_large(Entrant& entrant, simulator::Fidelity fidelity) const {
  entrant.too_large = planner::is_too_large(_problem, entrant.skeleton,
                                            simulation(_options, _limits, fidelity), _limits);
  return entrant.too_large;
}

bool Passes::is_good_enough(Time time) const {
  return time <= std::max(_limits.enough, _explanation.plan.bound.time * _limits.preset.enough);
}

/// Returns the shortest time by `fluid` so far; infinity: none is known.
Time Passes::best_fluid() const {
  Time best = Time::infinity();
  for (const Entrant& entrant : _entrants)
    best = std::min(best, entrant.candidate.fluid.value_or(best));
  return best;
}

void Passes::predict_first(Entrant& entrant) {
  if (!is_too_large(entrant, simulator::Fidelity::fluid))
    entrant.candidate.fluid = predict(entrant, simulator::Fidelity::fluid);
}

/// Simulates by `fluid` the candidate that is to be the first, and that with the shortest estimate
/// if this is good enough.
void Passes::predict_likeliest() {
  if (!is_enabled("fluid") || _entrants.empty()) return;
  for (Entrant& entrant : _entrants)
    if (entrant.is(_limits.first)) predict_first(entrant);
  if (is_settled()) return;
  Entrant& likeliest = _entrants.front();
  if (!likeliest.candidate.fluid && likeliest.candidate.estimate &&
      is_good_enough(*likeliest.candidate.estimate))
    predict_first(likeliest);
}

/// Simulates by `fast` the candidates that the estimate doesn't rule out, the likeliest first.
void Passes::predict_fast() {
  predict_likeliest();
  if (is_settled()) return;
  const double margin = std::max(_limits.preset.give_up, _limits.preset.rival_margin);
  std::size_t left = _limits.preset.simulated;
  std::int64_t messages_left = _limits.preset.all_messages;
  std::vector<std::string_view> algorithms;
  Wave wave{{}, best_fluid()};
  for (Entrant& entrant : _entrants) {
    const bool first =
        std::ranges::find(algorithms, entrant.skeleton.algorithm) == algorithms.end();
    if (first) algorithms.push_back(entrant.skeleton.algorithm);
    if (entrant.candidate.fluid) continue;
    const double limit =
        _limits.preset.hopeless * (first ? first_margin : 1) * wave.shortest.value();
    if (entrant.candidate.estimate && (entrant.seconds() > limit || left == 0)) continue;
    const std::int64_t messages = simulator::simulated_messages(
        _problem, entrant.skeleton, simulation(_options, _limits, simulator::Fidelity::fast));
    entrant.too_large = messages > _limits.preset.candidate_messages;
    if (entrant.too_large || (messages_left < messages && left < _limits.preset.simulated))
      continue;
    wave.entrants.push_back(&entrant);
    --left;
    messages_left -= messages;
    if (wave.entrants.size() == _limits.preset.wave)
      predict_wave(wave, simulator::Fidelity::fast, margin);
  }
  predict_wave(wave, simulator::Fidelity::fast, margin);
  sort();
}

/// The best few of all, and the best of each algorithm unless it is far behind; more of each where
/// connections start slowly, which fast doesn't know.
std::vector<std::size_t> Passes::finalists() {
  const bool slow_start =
      _problem.network.initial_window > 0 && LongPath(_problem).starts_slowly(_problem);
  const std::ptrdiff_t of_one = slow_start ? slow_start_finalists : 1;
  const double margin = _limits.preset.rival_margin * (slow_start ? slow_start_margin : 1);
  std::vector<std::size_t> chosen;
  std::vector<std::string_view> algorithms;
  double limit = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < _entrants.size(); ++i) {
    Entrant& entrant = _entrants[i];
    if (is_enabled("fast") && !entrant.candidate.fast && !entrant.candidate.fluid) continue;
    if (!is_enabled("fast") && entrant.candidate.estimate &&
        entrant.seconds() > _limits.preset.hopeless * _entrants.front().seconds())
      continue;
    limit = std::min(limit, margin * entrant.seconds());
    const bool first = std::ranges::count(algorithms, entrant.skeleton.algorithm) < of_one;
    if (chosen.size() < _options.finalists || (first && entrant.seconds() <= limit) ||
        !entrant.candidate.time())
      chosen.push_back(i);
    algorithms.push_back(entrant.skeleton.algorithm);
  }
  return chosen;
}

void Passes::predict_fluid() {
  if (!is_enabled("fast")) predict_likeliest();
  Wave wave{{}, best_fluid()};
  for (const std::size_t i : finalists()) {
    if (wave.entrants.empty() && is_settled()) break;
    const Candidate& candidate = _entrants[i].candidate;
    if (candidate.fluid ||
        (candidate.time() &&
         _entrants[i].seconds() > _limits.preset.hopeless * wave.shortest.value()) ||
        is_too_large(_entrants[i], simulator::Fidelity::fluid))
      continue;
    wave.entrants.push_back(&_entrants[i]);
    if (wave.entrants.size() == _limits.preset.wave)
      predict_wave(wave, simulator::Fidelity::fluid, _limits.preset.give_up);
  }
  predict_wave(wave, simulator::Fidelity::fluid, _limits.preset.give_up);
  sort();
}

/// From each of the best few, of different algorithms if there are.
void Passes::search() {
  if (is_settled()) return;
  std::vector<std::size_t> starts;
  for (const bool only_new : {true, false})
    for (std::size_t i = 0; i < _entrants.size() && starts.size() < search_starts; ++i) {
      const auto same = [&](std::size_t start) {
        return start == i ||
               (only_new && _entrants[start].skeleton.algorithm == _entrants[i].skeleton.algorithm);
      };
      if (_entrants[i].candidate.fluid && std::ranges::none_of(starts, same)) starts.push_back(i);
    }
  Climb climb;
  climb.seed = _options.seed;
  climb.fast = simulation(_options, _limits, simulator::Fidelity::fast);
  climb.fluid = simulation(_options, _limits, simulator::Fidelity::fluid);
  climb.fast.max_messages = std::min(climb.fast.max_messages, search_messages);
  for (const std::size_t start : starts) {
    climb.messages = static_cast<std::int64_t>(_options.budget * messages_per_second /
                                               static_cast<double>(starts.size()));
    Climbed climbed = planner::climb(_problem, _entrants[start].skeleton, climb);
    if (climbed.accepted == 0) continue;
    Entrant entrant = _entrants[start];
    entrant.skeleton = std::move(climbed.skeleton);
    entrant.candidate.parameters.segment_size = entrant.skeleton.segment_size;
    entrant.candidate.window = entrant.skeleton.window;
    entrant.candidate.searched = true;
    entrant.candidate.estimate = {};
    entrant.candidate.fast = climbed.fast;
    entrant.candidate.fluid = climbed.fluid;
    _entrants.push_back(std::move(entrant));
  }
  sort();
}

/// Best first; those that a worse judge knows come after those that a better one knows. What is too
/// large for a better one stands among its own, what even fast can't simulate with a margin.
void Passes::sort() {
  const auto judge = [](const Entrant& entrant) {
    return entrant.candidate.fluid ? 0 : entrant.candidate.fast ? 1 : 2;
  };
  int best = 2;
  for (const Entrant& entrant : _entrants)
    best = std::min(best, judge(entrant));
  const auto key = [&](const Entrant& entrant) {
    return std::pair(entrant.too_large ? best : judge(entrant), entrant.seconds());
  };
  std::ranges::stable_sort(_entrants, {}, key);
}

void Passes::predict_native() {
  if (_problem.placement.size() < 2) return;
  if (_limits.known != nullptr) {
    native() = _limits.known->native;
    return;
  }
  NativeModel own(_problem.network, _options, _limits);
  native() = (_limits.native != nullptr ? *_limits.native : own).predict(_problem);
}

void Passes::find_bound() {
  _explanation.plan.bound =
      _limits.known != nullptr ? _limits.known->bound : bounds::bound(_problem);
}

std::vector<Choice> Passes::ranking(std::size_t count) const {
  std::vector<Choice> choices;
  const auto known = [&](const Candidate& candidate) {
    return std::ranges::count(choices, candidate.algorithm, &Choice::algorithm);
  };
  for (const Candidate& candidate : _explanation.candidates)
    if (candidate.algorithm != native_name && candidate.time() && !candidate.searched &&
        choices.size() < count && known(candidate) < most_of_one)
      choices.push_back({candidate.algorithm, candidate.parameters});
  return choices;
}

void Passes::choose() {
  std::size_t best = 0;
  for (std::size_t i = 0; i < _entrants.size(); ++i)
    if (_entrants[i].is(_limits.preferred) &&
        _entrants[i].seconds() <= preferred_margin * _entrants.front().seconds() &&
        (_entrants[i].candidate.fluid || !_entrants.front().candidate.fluid))
      best = i;
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
  } else if (_options.force.empty() && is_enabled("native") &&
             !(_entrants[best].seconds() <= native().to_beat().value())) {
    const Candidate& candidate = _entrants[best].candidate;
    choose_native(to_text(candidate) + " isn't predicted to be 5 % faster beyond the uncertainty" +
                  (candidate.time() ? " (" + units::to_text(*candidate.time()) + ")" : ""));
  } else {
    const Entrant& entrant = _entrants[best];
    Plan& plan = _explanation.plan;
    plan.algorithm = entrant.candidate.algorithm;
    plan.parameters = entrant.candidate.parameters;
    plan.skeleton = entrant.skeleton;
    plan.predicted = entrant.candidate.time().value_or(Time(0));
    plan.reason = describe(entrant);
  }
  explain();
}

void Passes::choose_native(const std::string& why) {
  Plan& plan = _explanation.plan;
  plan.algorithm = native_name;
  plan.predicted = native().time;
  plan.reason = "native: " + why;
  if (!native().algorithm.empty()) plan.reason += "; " + to_text(native());
}

std::string Passes::describe(const Entrant& best) const {
  const bounds::Bound& bound = _explanation.plan.bound;
  std::string text = to_text(best.candidate);
  if (!_options.force.empty()) text += ", as asked for";
  if (const auto time = best.candidate.time()) {
    text += ": predicted " + units::to_text(*time);
    if (bound.time.value() > 0)
      text += ", " + ratio(*time, bound.time) + "x of the bound " + units::to_text(bound.time) +
              " (" + bound.reason + ")";
  }
  if (is_enabled("native")) text += "; " + to_text(_explanation.plan.native);
  if (is_beyond_runtime(best))
    text += "; the runtime can't execute it, since only its two ends know the size of a block";
  else if (hides_sizes())
    text += "; blocks go straight, since only their two ends know their sizes";
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

/// Puts the candidates in order: those with a time by time, with native if it was predicted.
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

void Passes::verify() const {
  const Plan& plan = _explanation.plan;
  if (plan.algorithm == native_name) return;
  schedule::verify(_problem.collective, algorithms::expand(_problem.collective.kind, plan.skeleton,
                                                           _problem.collective.size));
}

} // namespace thalweg::planner
