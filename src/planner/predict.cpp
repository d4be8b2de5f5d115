#include "planner/parallel.hpp"
#include "planner/passes.hpp"
#include "simulator/estimate.hpp"

#include <algorithm>
#include <limits>

/// The passes that predict times.
namespace thalweg::planner {

namespace {

/// How much longer than the best candidate one may be predicted to take that counts as equally
/// good: predictions aren't more exact than that.
constexpr double tie_margin = 1.02;
/// How much farther from the best an algorithm's likeliest candidate may be than the others before
/// it is given up.
constexpr double first_margin = 2;
/// Candidates of one algorithm that fluid judges where connections start slowly, and by how much
/// more than Preset::rival_margin they may be farther from the best: fast takes them for faster
/// than they are, those with few connections most.
constexpr std::ptrdiff_t slow_start_finalists = 12;
constexpr double slow_start_margin = 2;

} // namespace

void Passes::estimate() {
  const simulator::SimulationOptions options = estimation(_options, _limits);
  for_each_parallel(_entrants.size(), _limits.threads, [&](std::size_t i) {
    check_wanted(_options.is_cancelled);
    Entrant& entrant = _entrants[i];
    // An estimate from a sample of the ranks may miss what limits all.
    entrant.candidate.estimate = std::max(_explanation.plan.bound.time,
                                          simulator::estimate(_problem, entrant.skeleton, options));
  });
  sort();
}

/// Sets the time of a candidate, or takes it away if the simulation is given up.
void Passes::predict(Entrant& entrant, const simulator::SimulationOptions& simulation) const {
  check_wanted(_options.is_cancelled);
  const simulator::Prediction found =
      simulator::simulate(_problem, entrant.skeleton, simulation, _limits.memo);
  const bool is_fast = simulation.fidelity == simulator::Fidelity::fast;
  std::optional<Time>& time = is_fast ? entrant.candidate.fast : entrant.candidate.fluid;
  time = found.time < Time::infinity() ? std::optional(found.time) : std::nullopt;
  // What is given up takes longer than that, whatever its estimate says.
  if (!time && entrant.candidate.estimate)
    entrant.candidate.estimate = std::max(*entrant.candidate.estimate, simulation.give_up);
  entrant.is_guessed = found.is_guessed();
}

void Passes::predict_wave(Wave& wave, simulator::Fidelity fidelity, double margin) const {
  const auto judged = fidelity == simulator::Fidelity::fast ? &Candidate::fast : &Candidate::fluid;
  simulator::SimulationOptions simulation = planner::simulation(_options, _limits, fidelity);
  simulation.give_up = wave.shortest * margin;
  for_each_parallel(wave.entrants.size(), _limits.threads,
                    [&](std::size_t i) { predict(*wave.entrants[i], simulation); });
  for (const Entrant* entrant : wave.entrants)
    wave.shortest = std::min(wave.shortest, (entrant->candidate.*judged).value_or(wave.shortest));
  wave.entrants.clear();
}

bool Passes::is_too_large(const Entrant& entrant, simulator::Fidelity fidelity) const {
  return planner::is_too_large(_problem, entrant.skeleton, simulation(_options, _limits, fidelity),
                               _limits);
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
  entrant.too_large = is_too_large(entrant, simulator::Fidelity::fluid);
  if (entrant.too_large)
    predict_too_large(entrant, Time::infinity());
  else
    predict(entrant, simulation(_options, _limits, simulator::Fidelity::fluid));
}

/// By `fast` what is too large for `fluid`, also where the pass of that name is left out, as for
/// most rows of a table: among candidates that are simulated an estimate seems far too short.
void Passes::predict_too_large(Entrant& entrant, Time give_up) const {
  simulator::SimulationOptions fast = simulation(_options, _limits, simulator::Fidelity::fast);
  fast.give_up = give_up;
  if (!entrant.candidate.fast && !planner::is_too_large(_problem, entrant.skeleton, fast, _limits))
    predict(entrant, fast);
}

/// Simulates by `fluid` the candidate that is to be the first, and that with the shortest estimate
/// if this is good enough.
void Passes::predict_likeliest() {
  if (!is_enabled("fluid") || _entrants.empty()) return;
  for (Entrant& entrant : _entrants)
    if (entrant.is(_limits.first) && !entrant.candidate.fluid) predict_first(entrant);
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
    entrant.too_large = messages > _limits.preset.candidate_messages ||
                        carries_too_much(_problem, entrant.skeleton);
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
    if (candidate.fluid || (candidate.time() && _entrants[i].seconds() > _limits.preset.hopeless *
                                                                             wave.shortest.value()))
      continue;
    _entrants[i].too_large = is_too_large(_entrants[i], simulator::Fidelity::fluid);
    if (_entrants[i].too_large) {
      predict_too_large(_entrants[i], wave.shortest * _limits.preset.give_up);
      wave.shortest = std::min(wave.shortest, candidate.fast.value_or(wave.shortest));
      continue;
    }
    wave.entrants.push_back(&_entrants[i]);
    if (wave.entrants.size() == _limits.preset.wave)
      predict_wave(wave, simulator::Fidelity::fluid, _limits.preset.give_up);
  }
  predict_wave(wave, simulator::Fidelity::fluid, _limits.preset.give_up);
  sort();
}

/// Returns the place of the candidate to choose among those that are as good as the best: the
/// preferred one, or else the one whose busiest rank has the fewest messages if they are far fewer
/// than the best one's. What a message costs a rank is what predictions miss most.
std::size_t Passes::chosen() const {
  std::vector<std::pair<double, std::size_t>> ties; // of messages and place
  for (std::size_t i = 0; i < _entrants.size(); ++i) {
    if (!is_as_good_as_best(_entrants[i])) continue;
    if (_entrants[i].is(_limits.preferred)) return i;
    if (_entrants[i].is_simulated()) ties.emplace_back(0, i);
  }
  if (ties.size() < 2 || ties.front().second > 0) return 0; // the best one's aren't counted
  for (auto& [messages, i] : ties)
    messages = busiest_messages(_entrants[i]);
  const double of_best = ties.front().first;
  const auto& [fewest, place] = std::ranges::min(ties);
  return many_times * fewest <= of_best ? place : 0;
}

/// Whether a candidate is predicted to be hardly worse than the best one, and as exactly.
bool Passes::is_as_good_as_best(const Entrant& entrant) const {
  const Entrant& best = _entrants.front();
  return entrant.seconds() <= tie_margin * best.seconds() &&
         (entrant.candidate.fluid || !best.candidate.fluid);
}

/// Whether a candidate is as good as the best one, and predicted to take longer.
bool Passes::is_near_tie(const Entrant& entrant) const {
  const Entrant& best = _entrants.front();
  return best.candidate.time() && is_as_good_as_best(entrant) && best.seconds() < entrant.seconds();
}

/// Returns how many messages the busiest rank sends and receives, all segments together. Transfers
/// without data aren't sent. Takes less time than to simulate them.
double Passes::busiest_messages(const Entrant& entrant) const {
  const Skeleton& skeleton = entrant.skeleton;
  const schedule::Sink sink =
      algorithms::emit(_problem.collective.kind, skeleton, collective::no_rank);
  const schedule::Layout layout =
      schedule::Schedule(skeleton.chunks, {}, {}, skeleton.weights).layout(_problem.collective);
  const bool may_be_empty = layout.total() > 0 && layout.may_have_empty_chunks();
  std::vector<int> messages(static_cast<std::size_t>(skeleton.ranks));
  for (const schedule::Transfer& transfer : sink.transfers()) {
    if (may_be_empty && layout.size(0, transfer.what) == 0) continue;
    for (const collective::Rank rank : {transfer.from, transfer.to})
      ++messages[static_cast<std::size_t>(rank)];
  }
  return static_cast<double>(std::ranges::max(messages)) *
         skeleton.pipeline(_problem.collective.size).segments;
}

/// Simulates the candidate to choose, and the best one if that is another, by `fluid` without
/// guessing, or guesses late, until these are the ones to choose then. If a candidate seemed good
/// enough and isn't, others may be.
void Passes::confirm() {
  Limits limits = _limits;
  limits.confirms = true;
  const simulator::SimulationOptions simulation =
      planner::simulation(_options, limits, simulator::Fidelity::fluid);
  const auto can_be_confirmed = [&](const Entrant& entrant) {
    const bool is_known = entrant.candidate.fluid && !entrant.is_guessed;
    return !is_known && !planner::is_too_large(_problem, entrant.skeleton, simulation, limits);
  };
  while (Entrant* entrant = unconfirmed(can_be_confirmed)) {
    const bool seemed_settled = is_settled();
    predict(*entrant, simulation);
    entrant->is_confirmed = true;
    sort();
    if (!seemed_settled || is_settled()) continue;
    if (is_enabled("fast")) predict_fast();
    predict_fluid();
  }
}

/// Returns a candidate that may be chosen and isn't confirmed, but can be; null: there is none.
Passes::Entrant* Passes::unconfirmed(const std::function<bool(const Entrant&)>& can_be_confirmed) {
  if (_entrants.empty()) return nullptr;
  for (const std::size_t place : {chosen(), std::size_t{0}}) {
    Entrant& entrant = _entrants[place];
    if (!entrant.is_confirmed && can_be_confirmed(entrant)) return &entrant;
  }
  return nullptr;
}

/// Where nothing is simulated: estimates the candidate to choose, and the best one, from all
/// messages of a segment, not from a sample of their ranks, until these are the ones to choose
/// then. A sample doesn't see the path through a tree.
void Passes::confirm_estimate() {
  Limits limits = _limits;
  limits.confirms = true;
  const auto can_be_confirmed = [&](const Entrant& entrant) {
    return can_be_estimated_whole(_problem, entrant.skeleton);
  };
  while (Entrant* entrant = unconfirmed(can_be_confirmed)) {
    entrant->candidate.estimate = std::max(_explanation.plan.bound.time,
                                           judge(_problem, entrant->skeleton, _options, limits));
    entrant->is_confirmed = true;
    sort();
  }
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

} // namespace thalweg::planner
