#include "simulator/simulator.hpp"

#include "algorithms/cache.hpp"
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

std::vector<SimulatedMessage> timeline(const Workload& workload,
                                       const std::vector<Engine::Span>& spans) {
  const std::vector<MessageId> order = workload.in_order();
  std::vector<std::int32_t> position(spans.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i)
    position[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  std::vector<SimulatedMessage> events;
  events.reserve(order.size());
  for (const MessageId id : order) {
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

/// Returns when all ranks have the segment.
double segment_end(const Workload& workload, const std::vector<Engine::Span>& spans,
                   std::int32_t segment) {
  const auto begin = spans.begin() + static_cast<std::ptrdiff_t>(segment) *
                                         static_cast<std::ptrdiff_t>(workload.transfers());
  double end = 0;
  for (auto span = begin; span != begin + static_cast<std::ptrdiff_t>(workload.transfers()); ++span)
    end = std::max(end, span->end);
  return end;
}

/// Returns the most segments to fill a pipeline; fewer for a schedule with many transfers, whose
/// slope is about right before the pipeline is full.
std::int64_t longest_filling(std::int64_t transfers) {
  return std::clamp<std::int64_t>(10000 / std::max<std::int64_t>(1, transfers), 32, 128);
}

/// A schedule's extent, which decides how much of it must be simulated.
struct Extent {
  std::int64_t transfers = 0; ///< of a segment
  schedule::Step steps = 0;   ///< from a segment's first to its last
  schedule::Pipeline pipeline;
  Rank ranks = 1;

  /// Returns the segments at each end of the pipeline during which it fills or empties: the steps
  /// of one segment, and the operations that a window spans.
  [[nodiscard]] std::int32_t filling(int window) const {
    // The most operations in a rank's window, complete or not; a transfer has two.
    const std::int64_t spanned = execution::longest_window(pipeline.window_within(window)) * ranks;
    const auto in_window = spanned / std::max<std::int64_t>(1, 2 * transfers);
    return static_cast<std::int32_t>(std::min<std::int64_t>(steps / pipeline.period + 2 + in_window,
                                                            longest_filling(transfers)));
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

Extent extent_of(const Schedule& schedule, Rank ranks) {
  const auto transfers = schedule.transfers();
  if (transfers.empty()) return {0, 0, schedule.pipeline(), ranks};
  return {static_cast<std::int64_t>(transfers.size()),
          transfers.back().step - transfers.front().step, schedule.pipeline(), ranks};
}

/// Returns what each segment adds while the pipeline is full: the slope of the segments' ends, by
/// least squares, since latencies make them come in waves.
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

/// The result of simulating a whole schedule.
struct Run {
  std::vector<Engine::Span> spans;
  std::vector<double> exits; ///< seconds, by rank

  [[nodiscard]] double end() const { return *std::max_element(exits.begin(), exits.end()); }
};

/// The environment of a workload.
struct Surroundings {
  Surroundings(const Problem& problem, const Workload& workload)
      : cost(problem.cost), entries(problem.entries),
        ports(problem.network, problem.placement, cost, *algorithms::trunk_sets(problem),
              workload.connections) {}
  network::MessageCost cost;
  std::vector<Time> entries; ///< as Problem::entries
  Ports ports;
};

Run simulate_all(const Workload& workload, const Surroundings& around,
                 const SimulationOptions& options, Size initial_window) {
  EventQueue queue;
  FifoWire fifo(around.ports, workload, queue);
  FluidWire fluid(around.ports, initial_window, queue);
  Wire& wire = options.fidelity == Fidelity::fast ? static_cast<Wire&>(fifo) : fluid;
  Engine engine(workload, around.ports, around.cost,
                workload.pipeline.window_within(options.window), wire, queue);
  engine.run(around.entries);
  return {engine.spans(), engine.exits()};
}

Prediction predict(const Problem& problem, const Schedule& schedule,
                   const SimulationOptions& options) {
  const Workload workload(problem.collective, schedule);
  const Surroundings around(problem, workload);
  const Run run = simulate_all(workload, around, options, problem.network.initial_window);
  Prediction prediction;
  for (const double exit : run.exits)
    prediction.exits.emplace_back(exit);
  prediction.time = Time(run.end());
  prediction.messages = workload.messages;
  if (options.timeline) prediction.timeline = timeline(workload, run.spans);
  return prediction;
}

Schedule first_segments(const Schedule& schedule, std::int32_t segments) {
  schedule::Sink sink;
  for (const auto& t : schedule.transfers())
    sink.add(t.from, t.to, t.step, t.how, t.what, t.src, t.dst);
  schedule::Pipeline pipeline = schedule.pipeline();
  pipeline.segments = segments;
  return {schedule.chunks(),
          pipeline,
          std::move(sink),
          {schedule.weights().begin(), schedule.weights().end()}};
}

/// Returns the seconds that the busiest port, trunk or connection takes for a segment, the least
/// that a further one adds.
double busiest_time(const Workload& workload, const Ports& ports) {
  std::vector<double> through_ports(ports.capacities().size()),
      through_connections(ports.connections());
  for (std::size_t id = 0; id < workload.sizes.size(); ++id) {
    const Template& message = workload.templates[id % workload.transfers()];
    if (message.from == message.to) continue;
    const auto size = static_cast<double>(workload.sizes[id]);
    for (const PortId port : ports.all(message.connection))
      through_ports[static_cast<std::size_t>(port)] += size;
    through_connections[static_cast<std::size_t>(message.connection)] += size;
  }
  return ports.busiest(through_ports, through_connections) / workload.pipeline.segments;
}

/// @param segment_size in bytes; the problem's size needn't be a multiple of it
Memo::Beginning begin(const Problem& problem, const Schedule& schedule,
                      const SimulationOptions& options, std::int32_t segments,
                      double segment_size) {
  __extension__ using Wide = __int128;
  Problem shorter = problem;
  shorter.collective.size = static_cast<Size>(segment_size * segments);
  for (Size& size : shorter.collective.block_sizes)
    size = static_cast<Size>(Wide{size} * shorter.collective.size /
                             std::max<Size>(1, problem.collective.size));
  const Schedule part = first_segments(schedule, segments);
  const Workload workload(shorter.collective, part);
  const Surroundings around(shorter, workload);
  const Run run = simulate_all(workload, around, options, 0);
  const std::int32_t filling =
      extent_of(schedule, problem.collective.ranks).filling(options.window);
  Memo::Beginning beginning{segments, run.exits,
                            std::max(time_per_segment(workload, run.spans, filling),
                                     busiest_time(workload, around.ports))};
  const Size window = problem.network.initial_window;
  if (window == 0 || options.fidelity == Fidelity::fast) return beginning;
  // Slow start ends before the pipeline is full for long: it delays the rest once.
  const double delay = simulate_all(workload, around, options, window).end() - run.end();
  for (double& exit : beginning.exits)
    exit += delay;
  return beginning;
}

/// Predicts a pipeline of `segments` segments, not all of them whole.
Prediction predict(const Memo::Beginning& beginning, double segments) {
  const double more = (segments - beginning.segments) * beginning.per_segment;
  Prediction prediction;
  for (const double exit : beginning.exits) {
    prediction.exits.emplace_back(exit + more);
    prediction.time = std::max(prediction.time, prediction.exits.back());
  }
  return prediction;
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

const Memo::Beginning* Memo::find(const Skeleton& skeleton, Fidelity fidelity) const {
  const auto same = [&](const Entry& entry) {
    return entry.fidelity == fidelity && entry.skeleton == skeleton;
  };
  const auto found = std::find_if(_entries.begin(), _entries.end(), same);
  return found != _entries.end() ? &found->beginning : nullptr;
}

void Memo::add(const Skeleton& skeleton, Fidelity fidelity, Beginning beginning) {
  _entries.push_back({skeleton, fidelity, std::move(beginning)});
}

Prediction simulate(const Problem& problem, const Schedule& schedule,
                    const SimulationOptions& options) {
  check(problem, options);
  const std::int32_t segments = schedule.pipeline().segments;
  const std::int32_t enough = extent_of(schedule, problem.collective.ranks).representative(options);
  if (enough == segments) return predict(problem, schedule, options);
  const double segment_size = static_cast<double>(problem.collective.size) / segments;
  return predict(begin(problem, schedule, options, enough, segment_size), segments);
}

Prediction simulate(const Problem& problem, const Skeleton& skeleton,
                    const SimulationOptions& options, Memo* memo) {
  check(problem, options);
  const Size size = problem.collective.size;
  const std::int32_t segments = skeleton.pipeline(size).segments;
  const auto segment_size = static_cast<double>(skeleton.segment_size);
  if (memo != nullptr)
    if (const auto* known = memo->find(skeleton, options.fidelity);
        known != nullptr && known->segments < segments)
      return predict(*known, static_cast<double>(size) / segment_size);
  const Schedule schedule = algorithms::expand(problem.collective.kind, skeleton, size);
  const std::int32_t enough = extent_of(schedule, problem.collective.ranks).representative(options);
  if (enough == segments) return predict(problem, schedule, options);
  const auto messages = static_cast<std::int64_t>(schedule.transfers().size()) * enough;
  const Memo::Beginning beginning = begin(problem, schedule, options, enough, segment_size);
  if (memo != nullptr) memo->add(skeleton, options.fidelity, beginning);
  Prediction prediction = predict(beginning, static_cast<double>(size) / segment_size);
  prediction.messages = messages;
  return prediction;
}

std::int64_t simulated_messages(const Problem& problem, const Skeleton& skeleton,
                                const SimulationOptions& options) {
  std::array<std::int64_t, 3> transfers{};
  Extent extent{0, 0, skeleton.pipeline(problem.collective.size), skeleton.ranks};
  const std::array sampled = {skeleton.root, skeleton.ranks / 2, skeleton.ranks - 1};
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    const schedule::Sink sink = algorithms::emit(problem.collective.kind, skeleton, sampled[i]);
    const auto own = sink.transfers();
    transfers[i] = static_cast<std::int64_t>(own.size());
    if (!own.empty()) extent.steps = std::max(extent.steps, own.back().step);
  }
  // The median rank decides, not the root. Each message has two ends.
  std::sort(transfers.begin(), transfers.end());
  extent.transfers = (transfers[1] + 1) / 2 * skeleton.ranks;
  return extent.transfers * extent.representative(options);
}

std::vector<SimulatedMessage> critical_path(const std::vector<SimulatedMessage>& timeline) {
  std::vector<SimulatedMessage> path;
  if (timeline.empty()) return path;
  const auto last = std::max_element(
      timeline.begin(), timeline.end(),
      [](const SimulatedMessage& a, const SimulatedMessage& b) { return a.end < b.end; });
  // A cause starts before its effect, so the loop ends.
  for (auto i = static_cast<std::int32_t>(last - timeline.begin()); i >= 0;
       i = timeline[static_cast<std::size_t>(i)].cause)
    path.push_back(timeline[static_cast<std::size_t>(i)]);
  std::reverse(path.begin(), path.end());
  return path;
}

} // namespace thalweg::simulator
