#include "planner/neighborhood.hpp"

#include "simulator/simulator.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace thalweg::planner {
namespace {

/// How many times as long as the plan native must take.
constexpr double least_speedup = 1.05;

Time latency_of(const Edge& edge, const Network& network, const Placement& placement) {
  return network.latency(placement[index(edge.from)], placement[index(edge.to)]);
}

/// Returns the positions of the edges by descending latency, else in their order.
std::vector<std::size_t> far_ones_first(std::span<const Edge> edges, const Network& network,
                                        const Placement& placement) {
  std::vector<std::size_t> order(edges.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t at) {
    return latency_of(edges[at], network, placement);
  });
  return order;
}

std::vector<Step> far_first(std::span<const Edge> edges, const Network& network,
                            const Placement& placement) {
  std::vector<Step> steps(edges.size());
  Step step = 0;
  const Edge* last = nullptr;
  for (const std::size_t at : far_ones_first(edges, network, placement)) {
    const Edge& edge = edges[at];
    if (last != nullptr &&
        latency_of(*last, network, placement) != latency_of(edge, network, placement))
      ++step;
    steps[at] = step;
    last = &edge;
  }
  return steps;
}

/// The steps in which an end of edges is busy.
class Busy {
public:
  [[nodiscard]] bool at(std::size_t step) const { return step < _steps.size() && _steps[step]; }
  void add(std::size_t step) {
    if (step >= _steps.size()) _steps.resize(step + 1);
    _steps[step] = true;
  }

private:
  std::vector<bool> _steps;
};

/// Gives each edge, far ones first, the first step in which neither of its ends is busy.
/// @param node of a rank; an edge within a node has the first step
template <class Node>
std::vector<Step> one_at_a_time(std::span<const Edge> edges, std::span<const std::size_t> order,
                                std::size_t nodes, const Node& node) {
  std::vector<Busy> sends(nodes), receives(nodes);
  std::vector<Step> steps(edges.size());
  for (const std::size_t at : order) {
    const std::size_t from = node(edges[at].from), to = node(edges[at].to);
    if (from == to) continue;
    std::size_t step = 0;
    while (sends[from].at(step) || receives[to].at(step))
      ++step;
    sends[from].add(step);
    receives[to].add(step);
    steps[at] = static_cast<Step>(step);
  }
  return steps;
}

void check(std::span<const Edge> edges, const Placement& placement) {
  for (const Edge& edge : edges) {
    for (const Rank end : {edge.from, edge.to})
      if (end < 0 || end >= std::ssize(placement))
        throw std::invalid_argument("a message of a neighbourhood has an end at rank " +
                                    std::to_string(end) + ", the placement has " +
                                    std::to_string(placement.size()) + " ranks");
    if (edge.size < 0)
      throw std::invalid_argument("a message of a neighbourhood has " + std::to_string(edge.size) +
                                  " bytes: at least 0");
  }
}

/// Returns the sizes, divided alike so that their sum is below 2^31.
std::vector<std::int32_t> weights_of(std::span<const Edge> edges, Size total) {
  int shift = 0;
  while ((total >> shift) + std::ssize(edges) >= (Size{1} << 31))
    ++shift;
  std::vector<std::int32_t> weights;
  for (const Edge& edge : edges)
    weights.push_back(
        static_cast<std::int32_t>(std::max(edge.size >> shift, edge.size > 0 ? Size{1} : Size{0})));
  return weights;
}

/// Simulates the edges as the parts of a vector.
class Simulation {
public:
  Simulation(std::span<const Edge> edges, const Network& network, const Placement& placement,
             const std::string& library)
      : _edges(edges), _placement(placement),
        _problem(algorithms::make_problem({}, network, placement, library)) {
    Size total = 0;
    std::vector<int> degrees(placement.size());
    for (const Edge& edge : edges) {
      total += edge.size;
      for (const Rank end : {edge.from, edge.to})
        _most = std::max(_most, ++degrees[index(end)]);
    }
    _weights = weights_of(edges, total);
    _problem.collective = {.ranks = static_cast<Rank>(placement.size()), .size = total};
  }

  /// Returns the time, or infinity if it is more than `give_up`.
  [[nodiscard]] Time time(const Pace& pace, Time give_up) const {
    const std::vector<Step> steps = steps_of(_edges, _problem.network, _placement, pace.pacing);
    schedule::Sink sink;
    for (std::size_t at = 0; at < _edges.size(); ++at)
      sink.add(_edges[at].from, _edges[at].to, steps[at], schedule::How::copy,
               schedule::Range{static_cast<collective::ChunkId>(at)});
    sink.sort();
    const int window = pace.window > 0 ? pace.window : _most;
    const schedule::Schedule schedule(std::ssize(_edges), {.window = window}, std::move(sink),
                                      _weights);
    return simulator::simulate(_problem, schedule, {.window = window, .give_up = give_up}).time;
  }

private:
  std::span<const Edge> _edges;
  const Placement& _placement;
  algorithms::Problem _problem;
  std::vector<std::int32_t> _weights;
  int _most = 1; ///< messages of a rank
};

} // namespace

std::vector<Step> steps_of(std::span<const Edge> edges, const Network& network,
                           const Placement& placement, Pacing pacing) {
  switch (pacing) {
  case Pacing::native:
    break;
  case Pacing::far_first:
    return far_first(edges, network, placement);
  case Pacing::by_rank:
    return one_at_a_time(edges, far_ones_first(edges, network, placement), placement.size(),
                         [](Rank rank) { return index(rank); });
  case Pacing::by_host:
    return one_at_a_time(edges, far_ones_first(edges, network, placement), network.hosts.size(),
                         [&](Rank rank) { return index(placement[index(rank)]); });
  }
  return std::vector<Step>(edges.size());
}

NeighborhoodChoice plan_neighborhood(std::span<const Edge> edges, const Network& network,
                                     const Placement& placement, const std::string& library) {
  check(edges, placement);
  NeighborhoodChoice choice;
  if (std::ranges::all_of(edges, [](const Edge& edge) { return edge.size == 0; })) return choice;
  const Simulation simulation(edges, network, placement, library);
  choice.native = choice.time = simulation.time(paces.front(), Time::infinity());
  Time limit = choice.native / least_speedup;
  for (std::size_t pace = 1; pace < paces.size(); ++pace) {
    const Time time = simulation.time(paces[pace], limit);
    if (time >= limit) continue;
    limit = choice.time = time;
    choice.pace = pace;
  }
  return choice;
}

} // namespace thalweg::planner
