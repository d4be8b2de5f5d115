#include "simulator/simulator.hpp"

#include "algorithms/cache.hpp"
#include "simulator/engine.hpp"
#include "simulator/fifo_wire.hpp"
#include "simulator/fluid_wire.hpp"
#include "simulator/posts.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

namespace thalweg::simulator {

namespace {

using schedule::Schedule;

/// Segments below which a pipeline is always simulated as it is.
constexpr std::int32_t fewest_segments = 128;
/// Segments from which on part of a pipeline may be guessed, and how many times as many messages as
/// options ask for it must have.
constexpr std::int32_t fewest_guessed = 16;
constexpr std::int64_t guess_gain = 4;
/// Segments from which on it makes little difference that the last ones of a pipeline aren't whole.
constexpr std::int32_t fewest_remembered = 128;

std::vector<SimulatedMessage> timeline(const Workload& workload, const std::vector<Span>& spans) {
  const std::vector<MessageId> order = workload.in_order();
  std::vector<std::int32_t> position(spans.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i)
    position[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  std::vector<SimulatedMessage> events;
  events.reserve(order.size());
  for (const MessageId id : order) {
    const Template& t = workload.of(id);
    const Span& span = spans[static_cast<std::size_t>(id)];
    const std::int32_t segment = workload.segment(id);
    events.push_back({t.from, t.to, t.step + segment * workload.pipeline.period, segment,
                      static_cast<Size>(workload.size(id)), Time(span.start), Time(span.end),
                      span.cause < 0 ? -1 : position[static_cast<std::size_t>(span.cause)]});
  }
  return events;
}

/// Returns the most segments to fill the windows; fewer for a schedule with many transfers, whose
/// slope is about right before they are full.
std::int64_t longest_filling(std::int64_t transfers) {
  return std::clamp<std::int64_t>(10000 / std::max<std::int64_t>(1, transfers), 32, 128);
}

/// A schedule's extent, which decides how much of it must be simulated.
struct Extent {
  std::int64_t transfers = 0; ///< of a segment
  std::int64_t chunks = 0;    ///< that these carry together
  schedule::Step steps = 0;   ///< from a segment's first to its last
  schedule::Pipeline pipeline;
  Rank ranks = 1;

  /// Returns the segments at each end of the pipeline during which it fills or empties: the steps
  /// of one segment, and the operations that a window spans.
  [[nodiscard]] std::int32_t filling(int window) const {
    // The most operations in a rank's window, complete or not; a transfer has two.
    const std::int64_t spanned = execution::longest_window(pipeline.window_within(window)) * ranks;
    const auto in_window = spanned / std::max<std::int64_t>(1, 2 * transfers);
    // A tree over a slow link begins many steps after the others, and slows them only then.
    return steps / pipeline.period + 2 +
           static_cast<std::int32_t>(std::min<std::int64_t>(in_window, longest_filling(transfers)));
  }
  /// Returns the segments to simulate: those that fill it, those that empty it, and as many
  /// between.
  [[nodiscard]] std::int32_t representative(const SimulationOptions& options) const {
    if (options.max_messages == 0 || options.timeline) return pipeline.segments;
    const std::int64_t affordable = options.max_messages / std::max<std::int64_t>(1, transfers);
    const std::int64_t needed = std::int64_t{3} * filling(options.window);
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(pipeline.segments, std::max(affordable, needed)));
  }
};

/// The result of running a workload.
struct Run {
  Engine::End end = Engine::End::finished;
  std::vector<Span> spans;
  std::vector<double> exits;      ///< seconds, by rank
  std::int64_t messages = 0;      ///< number simulated
  std::int64_t guessed_after = 0; ///< as Prediction::guessed_after
  Engine::Growth growth;
};

Run run(const Problem& problem, const Workload& workload, const SimulationOptions& options,
        bool skips, Traffic* traffic = nullptr) {
  const Ports ports(problem.network, problem.placement, problem.cost,
                    *algorithms::trunk_sets(problem), workload.connections);
  EventQueue queue;
  std::unique_ptr<Wire> wire;
  if (options.fidelity == Fidelity::fast)
    wire = std::make_unique<FifoWire>(ports, workload, queue, traffic);
  else
    wire = std::make_unique<FluidWire>(ports, problem.network.initial_window, queue);
  Engine engine(workload, ports, problem.cost, workload.pipeline.window_within(options.window),
                *wire, queue, skips);
  Run run;
  Engine::Limits limits{.seconds = options.give_up.value()};
  if (skips) {
    limits.until_even = options.even_after;
    limits.messages = options.guess_after;
  }
  run.end = engine.run(problem.entries, limits);
  run.spans = engine.take_spans();
  run.exits = engine.exits();
  run.messages = engine.simulated();
  if (engine.has_guessed()) run.guessed_after = engine.guessed_after(limits);
  if (skips) run.growth = engine.growth();
  return run;
}

Prediction prediction_of(const Run& run) {
  Prediction prediction;
  prediction.messages = run.messages;
  prediction.guessed_after = run.guessed_after;
  if (run.end == Engine::End::too_long) {
    prediction.time = Time::infinity();
    return prediction;
  }
  for (const double exit : run.exits) {
    prediction.exits.emplace_back(exit);
    prediction.time = std::max(prediction.time, prediction.exits.back());
  }
  return prediction;
}

Prediction simulate_whole(const Problem& problem, const Schedule& schedule,
                          const SimulationOptions& options) {
  const Workload workload(problem.collective, schedule, Sizes::exact, problem.cost.eager_limit);
  const Run run = simulator::run(problem, workload, options, false);
  Prediction prediction = prediction_of(run);
  if (options.timeline) prediction.timeline = timeline(workload, run.spans);
  return prediction;
}

/// @param memo may be null
Prediction simulate(const Problem& problem, const Schedule& schedule,
                    const SimulationOptions& options, const Skeleton* skeleton, Memo* memo) {
  const std::int32_t segments = schedule.pipeline().segments;
  const std::int64_t messages = std::ssize(schedule.transfers()) * std::int64_t{segments};
  const bool may_guess = options.guess_after > 0 && segments >= fewest_guessed &&
                         messages > guess_gain * options.guess_after;
  if (options.max_messages == 0 || options.timeline || (segments < fewest_segments && !may_guess))
    return simulate_whole(problem, schedule, options);
  const Workload workload(problem.collective, schedule, Sizes::mean, problem.cost.eager_limit);
  if (!workload.is_uniform()) return simulate_whole(problem, schedule, options);
  const Run run = simulator::run(problem, workload, options, true);
  if (run.end == Engine::End::finished && memo != nullptr && run.growth.fewer > 0 &&
      segments >= fewest_remembered)
    memo->add(*skeleton, options.fidelity,
              {segments - run.growth.fewer + 1, problem.collective.size, run.exits,
               run.growth.per_segment, run.guessed_after});
  return prediction_of(run);
}

/// Predicts another size of a pipeline that is known.
Prediction predict(const Memo::Pipeline& known, Size size, Size segment_size) {
  const double more = static_cast<double>(size - known.size) / static_cast<double>(segment_size);
  Run run;
  run.guessed_after = known.guessed_after;
  for (std::size_t rank = 0; rank < known.exits.size(); ++rank)
    run.exits.push_back(known.exits[rank] + more * known.per_segment[rank]);
  return prediction_of(run);
}

} // namespace

void check(const Problem& problem, const SimulationOptions& options) {
  algorithms::check(problem);
  if (options.window < 0)
    throw std::invalid_argument("a window of " + std::to_string(options.window) +
                                " transfers lets nothing through: at least 1, or 0 for as many as "
                                "a schedule asks for");
  if (options.max_messages < 0)
    throw std::invalid_argument("at most " + std::to_string(options.max_messages) +
                                " messages can't be simulated: give 1 or more, or 0 for all");
}

namespace {

/// Whether a result that was guessed after so many messages, or not (0), is surer than another one.
bool is_surer(std::int64_t guessed_after, std::int64_t other) {
  return other > 0 && (guessed_after == 0 || guessed_after > other);
}
/// Whether it is as sure as the options ask for.
bool is_as_sure(std::int64_t guessed_after, const SimulationOptions& wanted) {
  return guessed_after == 0 || (wanted.guess_after > 0 && guessed_after >= wanted.guess_after);
}

} // namespace

const Memo::Known* Memo::find(const Skeleton& skeleton) const {
  const auto found = std::ranges::find(_known, skeleton, &Known::skeleton);
  return found != _known.end() ? &*found : nullptr;
}

Memo::Known& Memo::at(const Skeleton& skeleton) {
  const auto found = std::ranges::find(_known, skeleton, &Known::skeleton);
  if (found != _known.end()) return *found;
  _known.push_back({skeleton, {}, {}});
  return _known.back();
}

const Memo::Pipeline* Memo::find(const Skeleton& skeleton, const SimulationOptions& options) const {
  const Known* known = find(skeleton);
  if (known == nullptr) return nullptr;
  const auto found = known->pipelines.find(options.fidelity);
  return found != known->pipelines.end() && is_as_sure(found->second.guessed_after, options)
             ? &found->second
             : nullptr;
}

void Memo::add(const Skeleton& skeleton, Fidelity fidelity, const Pipeline& pipeline) {
  Pipeline& known = at(skeleton).pipelines.try_emplace(fidelity, pipeline).first->second;
  if (is_surer(pipeline.guessed_after, known.guessed_after)) known = pipeline;
}

const Prediction* Memo::find(const Skeleton& skeleton, Size size,
                             const SimulationOptions& options) const {
  const Known* known = find(skeleton);
  if (known == nullptr) return nullptr;
  const auto answers = [&](const Result& result) {
    return result.size == size && result.fidelity == options.fidelity &&
           is_as_sure(result.prediction.guessed_after, options) &&
           (result.prediction.time < Time::infinity() || options.give_up <= result.give_up);
  };
  const auto found = std::ranges::find_if(known->results, answers);
  return found != known->results.end() ? &found->prediction : nullptr;
}

void Memo::add(const Skeleton& skeleton, Size size, const SimulationOptions& options,
               Prediction prediction) {
  std::vector<Result>& results = at(skeleton).results;
  std::erase_if(results, [&](const Result& known) {
    return known.size == size && known.fidelity == options.fidelity &&
           is_surer(prediction.guessed_after, known.prediction.guessed_after);
  });
  results.push_back({size, options.fidelity, options.give_up, std::move(prediction)});
}

Prediction simulate(const Problem& problem, const Schedule& schedule,
                    const SimulationOptions& options) {
  check(problem, options);
  return simulate(problem, schedule, options, nullptr, nullptr);
}

Prediction simulate(const Problem& problem, const Skeleton& skeleton,
                    const SimulationOptions& options, Memo* memo) {
  check(problem, options);
  const Size size = problem.collective.size;
  const std::int32_t segments = skeleton.pipeline(size).segments;
  if (memo != nullptr) {
    if (const Prediction* known = memo->find(skeleton, size, options)) return *known;
    if (const auto* known = memo->find(skeleton, options);
        known != nullptr && segments >= std::max(fewest_remembered, known->least))
      return predict(*known, size, skeleton.segment_size);
  }
  Prediction prediction =
      simulate(problem, algorithms::expand(problem.collective.kind, skeleton, size), options,
               &skeleton, memo);
  if (memo != nullptr) memo->add(skeleton, size, options, prediction);
  return prediction;
}

CallWorkload::CallWorkload(const Collective& collective, const Skeleton& skeleton, Size eager_limit)
    : workload(collective, algorithms::expand(collective.kind, skeleton, collective.size),
               Sizes::exact, eager_limit),
      order(workload.in_order()) {
  std::erase_if(order, [&](MessageId id) { return workload.of(id).from == workload.of(id).to; });
}

Posts simulate_posts(const Problem& problem, const Skeleton& skeleton, Fidelity fidelity,
                     Traffic* traffic) {
  check(problem, {});
  return simulate_posts(problem, {problem.collective, skeleton, problem.cost.eager_limit}, fidelity,
                        traffic);
}

Posts simulate_posts(const Problem& problem, const CallWorkload& call, Fidelity fidelity,
                     Traffic* traffic, int window) {
  SimulationOptions options;
  options.fidelity = fidelity;
  options.window = window;
  check(problem, options);
  const Run run = simulator::run(problem, call.workload, options, false, traffic);
  Posts posts;
  posts.exits = prediction_of(run).exits;
  posts.messages.reserve(call.order.size());
  for (const MessageId id : call.order) {
    const Template& t = call.workload.of(id);
    const Span& span = run.spans[static_cast<std::size_t>(id)];
    posts.messages.push_back({t.from, t.to, t.step, Time(span.posted), Time(span.end)});
  }
  return posts;
}

namespace {

/// Returns about the extent of a schedule, from three of its ranks.
Extent extent_of(collective::Kind kind, const Skeleton& skeleton, Size size) {
  std::array<std::int64_t, 3> transfers{}, chunks{};
  Extent extent{0, 0, 0, skeleton.pipeline(size), skeleton.ranks};
  // In most trees a rank at an odd distance from the root is a leaf, as most ranks are.
  const auto at = [&](Rank distance) { return (skeleton.root + distance) % skeleton.ranks; };
  const std::array sampled = {skeleton.root, at(skeleton.ranks / 2 | 1), at(skeleton.ranks - 1)};
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    const schedule::Sink sink = algorithms::emit(kind, skeleton, sampled[i]);
    const auto own = sink.transfers();
    transfers[i] = static_cast<std::int64_t>(own.size());
    for (const schedule::Transfer& transfer : own)
      for (const schedule::Range& range : transfer.what)
        chunks[i] += range.count;
    if (!own.empty()) extent.steps = std::max(extent.steps, own.back().step);
  }
  // The median rank decides, not the root. Each message has two ends.
  const auto all = [&](std::array<std::int64_t, 3>& of_ranks) {
    std::ranges::sort(of_ranks);
    return (of_ranks[1] + 1) / 2 * skeleton.ranks;
  };
  extent.transfers = all(transfers);
  extent.chunks = all(chunks);
  return extent;
}

} // namespace

std::int64_t simulated_messages(const Problem& problem, const Skeleton& skeleton,
                                const SimulationOptions& options) {
  const Extent extent = extent_of(problem.collective.kind, skeleton, problem.collective.size);
  if (2 * extent.transfers * std::int64_t{extent.pipeline.segments} > most_messages)
    return std::numeric_limits<std::int32_t>::max();
  return extent.transfers * extent.representative(options);
}

bool carries_more_chunks(const Problem& problem, const Skeleton& skeleton, std::int64_t most) {
  if (skeleton.chunks * skeleton.ranks <= most) return false;
  const Extent extent = extent_of(problem.collective.kind, skeleton, problem.collective.size);
  return extent.chunks > most;
}

std::int64_t most_flows(const Problem& problem, const Skeleton& skeleton,
                        const SimulationOptions& options) {
  const Extent extent = extent_of(problem.collective.kind, skeleton, problem.collective.size);
  const std::int64_t posted =
      std::int64_t{extent.pipeline.window_within(options.window)} * skeleton.ranks;
  return std::min(extent.transfers, posted);
}

std::vector<SimulatedMessage> critical_path(const std::vector<SimulatedMessage>& timeline) {
  std::vector<SimulatedMessage> path;
  if (timeline.empty()) return path;
  const auto last = std::max_element(
      timeline.begin(), timeline.end(),
      [](const SimulatedMessage& a, const SimulatedMessage& b) { return a.end < b.end; });
  for (auto i = last - timeline.begin(); i >= 0; i = timeline[static_cast<std::size_t>(i)].cause) {
    // In a whole timeline a cause starts before its effect, and the loop ends.
    if (i >= std::ssize(timeline) || path.size() == timeline.size())
      throw std::invalid_argument("the timeline lacks causes of its messages: give a whole one");
    path.push_back(timeline[static_cast<std::size_t>(i)]);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

} // namespace thalweg::simulator
