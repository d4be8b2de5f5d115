#include "simulator/simulator.hpp"

#include "simulator/engine.hpp"
#include "simulator/fifo_wire.hpp"
#include "simulator/fluid_wire.hpp"

#include <algorithm>
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

void check(const Problem& problem, const Options& options) {
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
  if (options.window < 1)
    throw std::invalid_argument("a window of " + std::to_string(options.window) +
                                " transfers lets nothing through: at least 1");
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

/// Segments at each end of a pipeline during which it fills or runs empty.
std::int32_t filling_segments(const schedule::Schedule& schedule, const Options& options) {
  const auto transfers = schedule.transfers();
  if (transfers.empty()) return 1;
  const schedule::Step steps = transfers.back().step - transfers.front().step;
  return steps / schedule.pipeline().period + 1 + options.window;
}

/// Segments to simulate: those that fill it, those that empty it, and as many between.
std::int32_t representative_segments(const Schedule& schedule, const Options& options) {
  return std::max(options.max_segments, 3 * filling_segments(schedule, options));
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

Prediction simulate_all(const Problem& problem, const Schedule& schedule, const Options& options,
                        std::int32_t more_segments) {
  const network::MessageCost cost = message_cost(problem.network, options.library);
  const Workload workload(problem.collective, schedule);
  const Ports ports(problem.network, problem.placement, cost, workload.connections);
  EventQueue queue;
  FifoWire fifo(ports, workload, queue);
  FluidWire fluid(ports, options.initial_window, queue);
  Wire& wire = options.fidelity == Fidelity::fast ? static_cast<Wire&>(fifo) : fluid;
  Engine engine(workload, ports, cost, options.window, wire, queue);
  engine.run();

  Prediction prediction;
  double more = 0;
  if (more_segments > 0)
    more = more_segments *
           time_per_segment(workload, engine.spans(), filling_segments(schedule, options));
  for (const double exit : engine.exits()) {
    prediction.exits.emplace_back(exit + more);
    prediction.time = std::max(prediction.time, prediction.exits.back());
  }
  if (options.timeline) prediction.timeline = timeline(workload, engine.spans());
  return prediction;
}

} // namespace

Prediction simulate(const Problem& problem, const Schedule& schedule, const Options& options) {
  check(problem, options);
  const std::int32_t segments = schedule.pipeline().segments;
  const std::int32_t enough = representative_segments(schedule, options);
  if (options.max_segments == 0 || options.timeline || segments <= enough)
    return simulate_all(problem, schedule, options, 0);
  Problem shorter = problem;
  shorter.collective.size =
      static_cast<Size>(static_cast<double>(problem.collective.size) / segments * enough);
  schedule::Sink sink;
  for (const auto& t : schedule.transfers())
    sink.add(t.from, t.to, t.step, t.how, t.what, t.src, t.dst);
  const Schedule part(schedule.chunks(), {enough, schedule.pipeline().period}, std::move(sink),
                      {schedule.weights().begin(), schedule.weights().end()});
  return simulate_all(shorter, part, options, segments - enough);
}

Prediction simulate(const Problem& problem, const Skeleton& skeleton, const Options& options) {
  return simulate(problem,
                  algorithms::expand(problem.collective.kind, skeleton, problem.collective.size),
                  options);
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
