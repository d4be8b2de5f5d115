#include "simulator/simulator.hpp"

#include "simulator/engine.hpp"
#include "simulator/fifo_wire.hpp"
#include "simulator/fluid_wire.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

namespace thalweg::simulator {

namespace {

using schedule::Schedule;

network::MessageCost message_cost(const network::Network& network, const std::string& library) {
  const auto found = network.message_costs.find(library);
  if (found != network.message_costs.end()) return found->second;
  network::MessageCost none;
  none.eager_limit = std::numeric_limits<Size>::max();
  return none;
}

std::vector<Event> timeline(const Workload& workload, const std::vector<Engine::Span>& spans) {
  std::vector<std::int32_t> position(spans.size(), -1);
  for (std::size_t i = 0; i < workload.order.size(); ++i)
    position[static_cast<std::size_t>(workload.order[i])] = static_cast<std::int32_t>(i);
  std::vector<Event> events;
  events.reserve(workload.order.size());
  for (const MessageId id : workload.order) {
    const Template& t = workload.of(id);
    const Engine::Span& span = spans[static_cast<std::size_t>(id)];
    const std::int32_t segment = workload.segment(id);
    events.push_back({t.from, t.to, t.step + segment * workload.pipeline.period, segment,
                      workload.sizes[static_cast<std::size_t>(id)], Time(span.start),
                      Time(span.end),
                      span.cause < 0 ? -1 : position[static_cast<std::size_t>(span.cause)]});
  }
  return events;
}

/// When all ranks have the segment.
double segment_end(const Workload& workload, const std::vector<Engine::Span>& spans,
                   std::int32_t segment) {
  const auto begin = spans.begin() + static_cast<std::ptrdiff_t>(segment) *
                                         static_cast<std::ptrdiff_t>(workload.transfers());
  double end = 0;
  for (auto span = begin; span != begin + static_cast<std::ptrdiff_t>(workload.transfers()); ++span)
    end = std::max(end, span->end);
  return end;
}

/// Segments; fewer for a schedule with many transfers, whose pipeline needn't be full for its slope
/// to be seen about right.
std::int64_t longest_filling(std::int64_t transfers) {
  return std::clamp<std::int64_t>(10000 / std::max<std::int64_t>(1, transfers), 32, 128);
}

/// A schedule's extent, which decides how much of it must be simulated.
struct Extent {
  std::int64_t transfers = 0; ///< of a segment
  schedule::Step steps = 0;   ///< from a segment's first to its last
  schedule::Pipeline pipeline;
  Rank ranks = 1;

  /// Segments at each end of the pipeline during which it fills or runs empty: the steps of one,
  /// and those that a window spans.
  [[nodiscard]] std::int32_t filling(int window) const {
    // Of a rank's operations, two per transfer, so many can be in its window, complete or not.
    const std::int64_t spanned = longest_window(pipeline.window_within(window)) * ranks;
    const auto in_window = spanned / std::max<std::int64_t>(1, 2 * transfers);
    return static_cast<std::int32_t>(std::min<std::int64_t>(steps / pipeline.period + 2 + in_window,
                                                            longest_filling(transfers)));
  }
  /// Segments to simulate: those that fill it, those that empty it, and as many between.
  [[nodiscard]] std::int32_t representative(const Options& options) const {
    if (options.max_messages == 0 || options.timeline) return pipeline.segments;
    const std::int64_t affordable = options.max_messages / std::max<std::int64_t>(1, transfers);
    const std::int64_t needed = std::int64_t{3} * filling(options.window);
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(pipeline.segments, std::max(affordable, needed)));
  }
};

Extent extent_of(const Schedule& schedule, Rank ranks) {
  const auto transfers = schedule.transfers();
  if (transfers.empty()) return {0, 0, schedule.pipeline(), ranks};
  return {static_cast<std::int64_t>(transfers.size()),
          transfers.back().step - transfers.front().step, schedule.pipeline(), ranks};
}

/// What each segment adds while the pipeline is full: the slope of the segments' ends, by least
/// squares, since latencies make them come in waves.
double time_per_segment(const Workload& workload, const std::vector<Engine::Span>& spans,
                        std::int32_t filling) {
  const std::int32_t first = filling, last = workload.pipeline.segments - filling;
  const double middle = (first + last - 1) / 2.0;
  double covariance = 0, variance = 0;
  for (std::int32_t segment = first; segment < last; ++segment) {
    covariance += (segment - middle) * segment_end(workload, spans, segment);
    variance += (segment - middle) * (segment - middle);
  }
  return covariance / variance;
}

/// As simulate(), of the whole schedule; with `more_segments`, of one that is so much longer.
Prediction simulate_all(const Problem& problem, const Schedule& schedule, const Options& options,
                        Size initial_window, std::int32_t more_segments = 0) {
  const network::MessageCost cost = message_cost(problem.network, options.library);
  const Workload workload(problem.collective, schedule);
  const Ports ports(problem.network, problem.placement, cost, workload.connections);
  EventQueue queue;
  FifoWire fifo(ports, workload, queue);
  FluidWire fluid(ports, initial_window, queue);
  Wire& wire = options.fidelity == Fidelity::fast ? static_cast<Wire&>(fifo) : fluid;
  Engine engine(workload, ports, cost, workload.pipeline.window_within(options.window), wire,
                queue);
  engine.run();

  Prediction prediction;
  double more = 0;
  if (more_segments > 0)
    more = more_segments *
           time_per_segment(workload, engine.spans(),
                            extent_of(schedule, workload.ranks).filling(options.window));
  for (const double exit : engine.exits()) {
    prediction.simulated = std::max(prediction.simulated, Time(exit));
    prediction.exits.emplace_back(exit + more);
    prediction.time = std::max(prediction.time, prediction.exits.back());
  }
  if (options.timeline) prediction.timeline = timeline(workload, engine.spans());
  return prediction;
}

} // namespace

void check(const Problem& problem) {
  const auto& placement = problem.placement;
  if (static_cast<std::size_t>(problem.collective.ranks) != placement.size())
    throw std::invalid_argument("the placement is for " + std::to_string(placement.size()) +
                                " ranks, the collective for " +
                                std::to_string(problem.collective.ranks));
  for (std::size_t rank = 0; rank < placement.size(); ++rank)
    if (placement[rank] < 0 || placement[rank] >= problem.network.size())
      throw std::invalid_argument("rank " + std::to_string(rank) + " is placed on host " +
                                  std::to_string(placement[rank]) + " of a network of " +
                                  std::to_string(problem.network.size()) + " hosts");
}

Prediction simulate(const Problem& problem, const Schedule& schedule, const Options& options) {
  check(problem);
  if (options.window < 1)
    throw std::invalid_argument("a window of " + std::to_string(options.window) +
                                " transfers lets nothing through: at least 1");
  const std::int32_t segments = schedule.pipeline().segments;
  const std::int32_t enough = extent_of(schedule, problem.collective.ranks).representative(options);
  const Size window = problem.network.initial_window;
  if (enough == segments) return simulate_all(problem, schedule, options, window);
  Problem shorter = problem;
  shorter.collective.size =
      static_cast<Size>(static_cast<double>(problem.collective.size) / segments * enough);
  schedule::Sink sink;
  for (const auto& t : schedule.transfers())
    sink.add(t.from, t.to, t.step, t.how, t.what, t.src, t.dst);
  schedule::Pipeline pipeline = schedule.pipeline();
  pipeline.segments = enough;
  const Schedule part(schedule.chunks(), pipeline, std::move(sink),
                      {schedule.weights().begin(), schedule.weights().end()});
  Prediction prediction = simulate_all(shorter, part, options, 0, segments - enough);
  if (window == 0 || options.fidelity == Fidelity::fast) return prediction;
  // Slow start is over before the pipeline is full for long: it delays what follows once.
  const Time delay = simulate_all(shorter, part, options, window).time - prediction.simulated;
  prediction.time = prediction.time + delay;
  for (Time& exit : prediction.exits)
    exit = exit + delay;
  return prediction;
}

Prediction simulate(const Problem& problem, const Skeleton& skeleton, const Options& options) {
  return simulate(problem,
                  algorithms::expand(problem.collective.kind, skeleton, problem.collective.size),
                  options);
}

std::int64_t simulated_messages(const Problem& problem, const Skeleton& skeleton,
                                const Options& options) {
  const algorithms::Algorithm& algorithm = algorithms::find(skeleton.algorithm);
  std::array<std::int64_t, 3> transfers{};
  Extent extent{0, 0, skeleton.pipeline(problem.collective.size), skeleton.ranks};
  const std::array sampled = {skeleton.root, skeleton.ranks / 2, skeleton.ranks - 1};
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    schedule::Sink sink;
    algorithm.emit(problem.collective.kind, skeleton, sampled[i], sink);
    const auto own = sink.transfers();
    transfers[i] = static_cast<std::int64_t>(own.size());
    if (!own.empty()) extent.steps = std::max(extent.steps, own.back().step);
  }
  // What most ranks have decides, not what a root has. Each message has two ends.
  std::sort(transfers.begin(), transfers.end());
  extent.transfers = (transfers[1] + 1) / 2 * skeleton.ranks;
  return extent.transfers * extent.representative(options);
}

std::vector<Event> critical_path(const std::vector<Event>& timeline) {
  std::vector<Event> path;
  if (timeline.empty()) return path;
  const auto last = std::max_element(timeline.begin(), timeline.end(),
                                     [](const Event& a, const Event& b) { return a.end < b.end; });
  // A cause starts before its effect, so that this ends.
  for (auto i = static_cast<std::int32_t>(last - timeline.begin()); i >= 0;
       i = timeline[static_cast<std::size_t>(i)].cause)
    path.push_back(timeline[static_cast<std::size_t>(i)]);
  std::reverse(path.begin(), path.end());
  return path;
}

} // namespace thalweg::simulator
