#include "planner/passes.hpp"

#include "planner/native.hpp"
#include "schedule/verify.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <limits>
#include <stdexcept>

namespace thalweg::planner {

namespace {

/// How much faster than native a plan must be predicted to be.
constexpr double native_margin = 0.95;
/// How close to the best one the preferred candidate must be.
constexpr double preferred_margin = 1.02;

double seconds(const Candidate& candidate) {
  return candidate.time() ? candidate.time()->value() : std::numeric_limits<double>::infinity();
}

std::string ratio(Time time, Time unit) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", time / unit);
  return text.data();
}

std::string to_text(const Candidate& candidate) {
  std::string text = candidate.algorithm;
  const Parameters& p = candidate.parameters;
  if (p.segment_size > 0) text += " in segments of " + units::size_to_text(p.segment_size);
  if (p.senders != Parameters{}.senders) text += ", " + std::to_string(p.senders) + " senders";
  if (p.degree != Parameters{}.degree) text += ", degree " + std::to_string(p.degree);
  if (p.order == algorithms::Order::rank) text += ", in rank order";
  if (candidate.window > 0) text += ", window " + std::to_string(candidate.window);
  return text;
}

} // namespace

Passes::Passes(const Problem& problem, const Options& options, const Limits& limits)
    : _problem(problem), _options(options), _limits(limits) {
  if (!options.force.empty() && options.force != native_name &&
      !algorithms::find(options.force).supports(problem.collective.kind))
    throw std::invalid_argument("algorithm " + options.force + " can't do a " +
                                std::string(collective::to_text(problem.collective.kind)));
  for (const std::string& name : options.disabled)
    if (name != "fast" && name != "fluid" && name != "bound" && name != "verify")
      throw std::invalid_argument("no pass \"" + name +
                                  "\" to disable: there are fast, fluid, bound and verify");
  simulator::check(problem);
}

void Passes::run() {
  using simulator::Fidelity;
  pass("candidates", [&] { collect(); });
  if (is_enabled("fast")) pass("fast", [&] { predict(Fidelity::fast, _entrants.size()); });
  const std::size_t finalists = is_enabled("fast") ? _options.finalists : _entrants.size();
  if (is_enabled("fluid")) pass("fluid", [&] { predict(Fidelity::fluid, finalists); });
  if (is_enabled("bound")) pass("bound", [&] { find_bound(); });
  pass("choose", [&] { choose(); });
  if (is_enabled("verify")) pass("verify", [&] { verify(); });
}

bool Passes::is_enabled(const char* name) const {
  return std::find(_options.disabled.begin(), _options.disabled.end(), name) ==
         _options.disabled.end();
}

void Passes::pass(const char* name, const std::function<void()>& body) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  body();
  const std::chrono::duration<double> time = Clock::now() - begin;
  _explanation.passes.push_back({name, Time(time.count())});
}

void Passes::collect() {
  _native = native_time(_problem, _options.library);
  if (_options.force == native_name || !nothing_to_plan().empty()) return;
  const auto wanted = [&](const algorithms::Algorithm& algorithm) {
    return algorithm.supports(_problem.collective.kind) &&
           (!_limits.quick_builds || algorithm.builds_quickly(_problem.collective.ranks)) &&
           (_options.force.empty() || _options.force == algorithm.name());
  };
  if (_limits.only != nullptr) {
    for (const Choice& choice : *_limits.only)
      add(algorithms::find(choice.algorithm), choice.parameters);
    return;
  }
  for (const algorithms::Algorithm* algorithm : algorithms::all()) {
    if (!wanted(*algorithm)) continue;
    const auto guesses = algorithm->candidates(_problem);
    for (std::size_t i = 0; i < std::min(guesses.size(), _limits.parameters); ++i) {
      Parameters parameters = guesses[i];
      if (_limits.rank_order) parameters.order = algorithms::Order::rank;
      add(*algorithm, parameters);
    }
  }
}

void Passes::add(const algorithms::Algorithm& algorithm, const Parameters& parameters) {
  Skeleton skeleton = algorithm.build(_problem, parameters);
  const auto same = [&](const Entrant& entrant) { return entrant.skeleton == skeleton; };
  if (std::any_of(_entrants.begin(), _entrants.end(), same)) return;
  const bool too_large =
      simulator::simulated_messages(_problem, skeleton, simulation(simulator::Fidelity::fast)) >
      _limits.candidate_messages;
  const Candidate candidate{skeleton.algorithm, parameters, skeleton.window, {}, {}};
  _entrants.push_back({candidate, std::move(skeleton), too_large});
}

simulator::Options Passes::simulation(simulator::Fidelity fidelity) const {
  simulator::Options options;
  options.fidelity = fidelity;
  options.library = _options.library;
  options.window = _options.window;
  options.max_messages =
      fidelity == simulator::Fidelity::fast ? _limits.fast_messages : _limits.fluid_messages;
  return options;
}

void Passes::predict(simulator::Fidelity fidelity, std::size_t count) {
  const simulator::Options options = simulation(fidelity);
  for (std::size_t i = 0; i < std::min(count, _entrants.size()); ++i) {
    Entrant& entrant = _entrants[i];
    if (entrant.too_large) continue;
    const Time time = simulator::simulate(_problem, entrant.skeleton, options, _limits.memo).time;
    (fidelity == simulator::Fidelity::fast ? entrant.candidate.fast : entrant.candidate.fluid) =
        time;
  }
  sort();
}

/// Best first; those that only the fast simulator knows come after those that the fluid one knows.
void Passes::sort() {
  std::stable_sort(_entrants.begin(), _entrants.end(), [](const Entrant& a, const Entrant& b) {
    if (a.candidate.fluid.has_value() != b.candidate.fluid.has_value())
      return a.candidate.fluid.has_value();
    return seconds(a.candidate) < seconds(b.candidate);
  });
}

void Passes::find_bound() { _explanation.plan.bound = bounds::bound(_problem, _options.library); }

std::vector<Choice> Passes::ranking(std::size_t count) const {
  std::vector<Choice> choices;
  for (const Candidate& candidate : _explanation.candidates)
    if (candidate.algorithm != native_name && candidate.time() && choices.size() < count)
      choices.push_back({candidate.algorithm, candidate.parameters});
  return choices;
}

void Passes::choose() {
  std::size_t best = 0;
  if (_limits.preferred != nullptr)
    for (std::size_t i = 0; i < _entrants.size(); ++i) {
      const Candidate& candidate = _entrants[i].candidate;
      if (Choice{candidate.algorithm, candidate.parameters} == *_limits.preferred &&
          seconds(candidate) <= preferred_margin * seconds(_entrants.front().candidate))
        best = i;
    }
  const std::string nothing = nothing_to_plan();
  if (!nothing.empty()) {
    choose_native(nothing);
  } else if (_options.force == native_name) {
    choose_native("it was asked for");
  } else if (_entrants.empty()) {
    choose_native("no algorithm can do it");
  } else if (_options.force.empty() && _native &&
             !(seconds(_entrants[best].candidate) <= native_margin * _native->value())) {
    const Candidate& candidate = _entrants[best].candidate;
    choose_native(to_text(candidate) + " isn't predicted to be 5 % faster" +
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
  plan.predicted = _native.value_or(Time(0));
  plan.reason = "native: " + why;
  if (_native) plan.reason += "; measured " + units::to_text(*_native);
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
  return text + (_native ? "; native measured " + units::to_text(*_native) : "");
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

/// Puts the candidates in order: those with a time by time, native among them.
void Passes::explain() {
  auto& candidates = _explanation.candidates;
  for (const Entrant& entrant : _entrants)
    candidates.push_back(entrant.candidate);
  const Candidate native{native_name, {}, 0, {}, _native};
  const auto later = [&](const Candidate& candidate) {
    return !candidate.fluid || (_native && *candidate.fluid > *_native);
  };
  const auto place =
      _native ? std::find_if(candidates.begin(), candidates.end(), later) : candidates.end();
  candidates.insert(place, native);
}

void Passes::verify() const {
  const Plan& plan = _explanation.plan;
  if (plan.algorithm == native_name) return;
  schedule::verify(_problem.collective, algorithms::expand(_problem.collective.kind, plan.skeleton,
                                                           _problem.collective.size));
}

} // namespace thalweg::planner
