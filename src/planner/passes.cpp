#include "planner/passes.hpp"

#include "planner/native.hpp"
#include "planner/parallel.hpp"
#include "planner/search.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <stdexcept>

namespace thalweg::planner {

namespace {

/// Choices of one algorithm in a ranking: its parameters suit another root alike, or not at all.
constexpr std::ptrdiff_t most_of_one = 2;
/// How much longer than its estimate a candidate that can't be simulated is taken to last.
constexpr double estimate_margin = 1.2;
/// How much longer than predicted a candidate is taken to last whose time is still a guess after
/// many messages.
constexpr double guess_margin = 1.1;
/// Candidates that a search starts from.
constexpr std::size_t search_starts = 3;
/// How many messages are simulated per second of PlanOptions::budget.
constexpr double messages_per_second = 1e6;
/// Messages of the segments that a search simulates.
constexpr std::int64_t search_messages = 2000;

constexpr std::array<const char*, 7> passes_to_disable = {"estimate", "fast",  "fluid", "search",
                                                          "native",   "bound", "verify"};

PassTime timed(const char* name, const std::function<void()>& body) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  body();
  const std::chrono::duration<double> time = Clock::now() - begin;
  return {name, Time(time.count())};
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
                                " ranks: ask for another one, or for none");
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
  const bool is_doubtful = is_guessed && is_confirmed;
  return candidate.time()->value() * (too_large && !candidate.fast ? estimate_margin
                                      : is_doubtful                ? guess_margin
                                                                   : 1);
}

bool Passes::Entrant::is(const Choice* choice) const {
  return choice != nullptr && !candidate.searched &&
         Choice{candidate.algorithm, candidate.parameters} == *choice;
}

/// What native takes doesn't depend on the candidates, so it is predicted at the same time.
void Passes::run() {
  std::optional<PassTime> native;
  const auto predict = [&] {
    if (is_enabled("native")) native = timed("native", [&] { predict_native(); });
  };
  for_each_parallel(2, _limits.threads, [&](std::size_t i) { i == 0 ? compare() : predict(); });
  if (native) _explanation.passes.push_back(*native);
  pass("choose", [&] { choose(); });
  if (is_enabled("verify")) pass("verify", [&] { verify(); });
}

/// Runs the passes about candidates, up to the choice.
void Passes::compare() {
  pass("candidates", [&] { collect(); });
  if (is_enabled("bound")) pass("bound", [&] { find_bound(); });
  if (is_enabled("estimate")) pass("estimate", [&] { estimate(); });
  if (is_enabled("fast")) pass("fast", [&] { predict_fast(); });
  if (is_enabled("fluid")) pass("fluid", [&] { predict_fluid(); });
  if (is_enabled("search")) pass("search", [&] { search(); });
  if (is_enabled("fluid")) pass("confirm", [&] { confirm(); });
  if (is_enabled("estimate") && best_judge(_options) == "estimate")
    pass("confirm", [&] { confirm_estimate(); });
}

void Passes::pass(const char* name, const std::function<void()>& body) {
  check_wanted(_options.is_cancelled);
  _explanation.passes.push_back(timed(name, body));
}

/// Climbs from each of the best few candidates, of different algorithms if there are some.
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
  climb.is_cancelled = _options.is_cancelled;
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
  if (_limits.known != nullptr) {
    _explanation.plan.bound = _limits.known->bound;
    return;
  }
  _explanation.plan.bound = bounds::bound(_problem);
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

void Passes::verify() {
  Plan& plan = _explanation.plan;
  if (plan.algorithm != native_name && !replay(_problem, plan.skeleton))
    plan.reason += "; its schedule is too large to be verified";
}

} // namespace thalweg::planner
