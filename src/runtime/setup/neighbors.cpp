#include "runtime/setup/neighbors.hpp"

#include "runtime/execute/own_arithmetic.hpp"
#include "runtime/mpi/error.hpp"
#include "runtime/observe/clock.hpp"
#include "runtime/setup/runtime.hpp"
#include "units/fields.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace thalweg::runtime {
namespace {

using collective::Neighborhood;

/// The calls before the ranks agree, for each round of an agreement.
constexpr std::int64_t calls_per_round = 20;
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

Neighbors grid_neighbors(MPI_Comm comm) {
  Neighbors found;
  int dimensions = 0;
  native.Cartdim_get(comm, &dimensions);
  for (int dimension = 0; dimension < dimensions; ++dimension) {
    int before = MPI_PROC_NULL, after = MPI_PROC_NULL;
    native.Cart_shift(comm, dimension, 1, &before, &after);
    for (std::vector<int>* const neighbors : {&found.sources, &found.destinations})
      neighbors->insert(neighbors->end(), {before, after});
  }
  return found;
}

Neighbors graph_neighbors(MPI_Comm comm, int rank) {
  Neighbors found;
  int count = 0;
  native.Graph_neighbors_count(comm, rank, &count);
  found.sources.resize(index(count));
  if (count > 0) native.Graph_neighbors(comm, rank, count, found.sources.data());
  found.destinations = found.sources;
  return found;
}

Neighbors distributed_neighbors(MPI_Comm comm) {
  Neighbors found;
  int in = 0, out = 0, weighted = 0;
  native.Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  // One more than needed, so that there is an address.
  found.sources.resize(index(in) + 1);
  found.destinations.resize(index(out) + 1);
  std::vector<int> in_weights(found.sources.size()), out_weights(found.destinations.size());
  native.Dist_graph_neighbors(comm, in, found.sources.data(), in_weights.data(), out,
                              found.destinations.data(), out_weights.data());
  found.sources.pop_back();
  found.destinations.pop_back();
  return found;
}

/// Returns those that are there.
std::vector<int> present(const std::vector<int>& neighbors) {
  std::vector<int> found;
  std::ranges::copy_if(neighbors, std::back_inserter(found),
                       [](int neighbor) { return neighbor != MPI_PROC_NULL; });
  return found;
}

bool is_distinct(std::vector<int> neighbors, int rank) {
  neighbors.push_back(rank);
  std::ranges::sort(neighbors);
  return std::ranges::adjacent_find(neighbors) == neighbors.end();
}

} // namespace

Neighbors Neighbors::of(MPI_Comm comm, int rank) {
  // SMPI has no collectives of neighbours, and ends a program that asks for topologies.
  if (is_simulated) return {};
  int topology = MPI_UNDEFINED;
  native.Topo_test(comm, &topology);
  if (topology == MPI_CART) return grid_neighbors(comm);
  if (topology == MPI_GRAPH) return graph_neighbors(comm, rank);
  if (topology == MPI_DIST_GRAPH) return distributed_neighbors(comm);
  return {};
}

bool Neighbors::are_distinct(int rank) const {
  return is_distinct(present(sources), rank) && is_distinct(present(destinations), rank);
}

Neighborhoods::Neighborhoods(MPI_Comm comm, Communicator& communicator, Runtime& runtime)
    : _comm(comm), _communicator(communicator), _runtime(runtime),
      _neighbors(Neighbors::of(comm, communicator.rank)), _force_version(runtime.force_version) {
  for (PlanState& each : _states)
    each.due = calls_per_round * std::bit_width(static_cast<std::uint32_t>(communicator.size));
}

const std::optional<planner::Pace>& Neighborhoods::forced(Neighborhood neighborhood) const {
  return _runtime.force[neighborhood];
}

void Neighborhoods::before_call() {
  if (_force_version != _runtime.force_version) {
    _force_version = _runtime.force_version;
    for (PlanState& each : _states)
      each.plan.reset();
  }
  if (goes_on() && _open.is_late(_calls)) go_on();
}

bool Neighborhoods::begins(Neighborhood neighborhood) const {
  const PlanState& its = state(neighborhood);
  if (_stage != Stage::watching || its.plan) return false;
  // In programs with several threads messages need the communicator's own tags.
  if (_runtime.multiple_threads && _communicator.number_for_tags == nullptr) return false;
  if (const auto& pace = forced(neighborhood)) return pace->pacing != planner::Pacing::native;
  return _runtime.has_tables() && its.calls + 1 >= its.due;
}

void Neighborhoods::after_call(Neighborhood neighborhood, const Sizes* sizes) {
  const bool begin = begins(neighborhood);
  ++_calls;
  ++state(neighborhood).calls;
  if (begin && sizes != nullptr) count(*sizes);
}

const NeighborhoodPlan* Neighborhoods::plan(Neighborhood neighborhood) const {
  const auto& pace = forced(neighborhood);
  if (pace && pace->pacing == planner::Pacing::native) return nullptr;
  const PlanState& its = state(neighborhood);
  return its.plan ? &*its.plan : nullptr;
}

Reason Neighborhoods::reason(Neighborhood neighborhood) const {
  const auto& pace = forced(neighborhood);
  if (pace && pace->pacing == planner::Pacing::native) return Reason::plan_native;
  return state(neighborhood).reason;
}

void Neighborhoods::end() {
  _stage = Stage::done;
  _open.end();
}

void Neighborhoods::count(const Sizes& sizes) {
  if (_communicator.world_ranks.empty()) _communicator.describe(_comm, _runtime);
  if (_communicator.reason && _communicator.reason != Reason::not_set_up)
    return give_up(*_communicator.reason);
  if (_communicator.accounts == nullptr)
    _communicator.accounts =
        _runtime.communicators.accounts(_communicator.number_for_tags, _runtime);
  _placement.clear();
  for (const int rank : _communicator.world_ranks)
    _placement.push_back(_runtime.hosts[index(rank)]);
  _agreed = sizes.neighborhood;
  _own_edges.clear();
  _bytes = 0;
  for (std::size_t i = 0; i < _neighbors.destinations.size(); ++i) {
    if (_neighbors.destinations[i] == MPI_PROC_NULL) continue;
    _own_edges.insert(_own_edges.end(), {_neighbors.destinations[i], sizes.bytes[i]});
    _bytes += sizes.bytes[i];
  }
  _own[usable] = _neighbors.are_distinct(_communicator.rank) ? 1 : 0;
  _own[degree] = std::ssize(_own_edges);
  _all.resize(index(_communicator.size) * fields);
  check(native.Iallgather(_own.data(), fields, native.int64, _all.data(), fields, native.int64,
                          _comm, _open.request()));
  _stage = Stage::counting;
  _open.begin(_calls);
}

void Neighborhoods::go_on() {
  _open.wait(); // in the program's arithmetic: its own reductions may go on meanwhile
  const OwnArithmetic arithmetic;
  switch (_stage) {
  case Stage::counting:
    return gather();
  case Stage::gathering:
    return decide();
  case Stage::deciding:
    return finish();
  case Stage::watching:
  case Stage::done:
    break;
  }
}

/// Leaves everything native for good.
void Neighborhoods::give_up(Reason reason) {
  for (PlanState& each : _states)
    if (!each.plan) each.reason = reason;
  _stage = Stage::done;
}

/// Lets the ranks agree again when there have been twice as many calls.
void Neighborhoods::wait_longer(Reason reason) {
  PlanState& its = state(_agreed);
  its.reason = reason;
  its.due = 2 * its.calls;
  _stage = Stage::watching;
}

void Neighborhoods::gather() {
  std::int64_t total = 0;
  _counts.clear();
  _begins.clear();
  for (int rank = 0; rank < _communicator.size; ++rank) {
    const std::int64_t* const its = &_all[index(rank) * fields];
    const bool is_small = total + its[degree] <= 2 * static_cast<std::int64_t>(planner::most_edges);
    if (its[usable] == 0 || !is_small) return give_up(Reason::not_planned);
    _counts.push_back(static_cast<int>(its[degree]));
    _begins.push_back(static_cast<int>(total));
    total += its[degree];
  }
  _own_edges.push_back(0); // so that there is an address
  _all_edges.resize(index(total) + 1);
  check(native.Iallgatherv(_own_edges.data(), static_cast<int>(_own[degree]), native.int64,
                           _all_edges.data(), _counts.data(), _begins.data(), native.int64, _comm,
                           _open.request()));
  _stage = Stage::gathering;
  _open.begin(_calls);
}

void Neighborhoods::decide() {
  _edges.clear();
  for (int rank = 0; rank < _communicator.size; ++rank)
    for (int i = 0; i < _counts[index(rank)]; i += 2) {
      const std::int64_t* const edge = &_all_edges[index(_begins[index(rank)] + i)];
      _edges.push_back({rank, static_cast<Rank>(edge[0]), edge[1]});
    }
  _verdict.fill(never);
  _verdict[consistent] = knows_sources() ? 1 : 0;
  if (_communicator.rank == 0 && !forced(_agreed)) choose();
  check(native.Iallreduce(_verdict.data(), _agreed_verdict.data(),
                          static_cast<int>(_verdict.size()), native.int64, native.min, _comm,
                          _open.request()));
  _stage = Stage::deciding;
  _open.begin(_calls);
}

/// Chooses a pace, if planning can be afforded now. Whatever fails leaves the calls native.
void Neighborhoods::choose() {
  const std::int64_t begin_ns = observe::monotonic_ns();
  const std::int64_t expected_ns = planner::planning_ns(std::ssize(_edges));
  _verdict[chosen] = later;
  if (_runtime.tables.budget().shortfall_of(expected_ns, begin_ns) > 0) return;
  planner::NeighborhoodChoice choice;
  try {
    choice = planner::plan_neighborhood(_edges, _runtime.plan.network, _placement,
                                        _runtime.plan.library);
  } catch (const std::exception&) {
    choice = {};
  }
  _verdict[chosen] = static_cast<std::int64_t>(choice.pace);
  _verdict[native_ns] = static_cast<std::int64_t>(choice.native.value() * 1e9);
  _verdict[plan_ns] = static_cast<std::int64_t>(choice.time.value() * 1e9);
  _runtime.tables.spend(observe::monotonic_ns() - begin_ns);
}

/// Whether the rank's sources are those that have declared it as a destination.
bool Neighborhoods::knows_sources() const {
  std::vector<int> declared, sources = present(_neighbors.sources);
  for (const planner::Edge& edge : _edges)
    if (edge.to == _communicator.rank) declared.push_back(edge.from);
  std::ranges::sort(sources);
  return declared == sources;
}

void Neighborhoods::finish() {
  if (_agreed_verdict[consistent] == 0) return give_up(Reason::not_planned);
  planner::Pace pace;
  if (const auto& own = forced(_agreed))
    pace = *own;
  else if (_agreed_verdict[chosen] == later)
    return wait_longer(Reason::not_set_up);
  else if (_agreed_verdict[chosen] < std::ssize(planner::paces))
    pace = planner::paces[index(_agreed_verdict[chosen])];
  if (pace.pacing == planner::Pacing::native) return wait_longer(Reason::plan_native);
  auto& plan = state(_agreed).plan;
  plan.emplace(NeighborhoodPlan{prepare(pace), prepare({}), _own[degree] / 2, _bytes, {}});
  if (_agreed_verdict[chosen] != never)
    plan->prediction = {.plan_ns = _agreed_verdict[plan_ns],
                        .native_ns = _agreed_verdict[native_ns]};
  _stage = Stage::watching;
  for (auto* const each : {&_all, &_own_edges, &_all_edges})
    *each = {};
  _edges = {};
}

Prepared Neighborhoods::prepare(const planner::Pace& pace) const {
  const std::vector<int> sources = present(_neighbors.sources);
  const std::vector<int> destinations = present(_neighbors.destinations);
  const std::vector<Step> steps =
      planner::steps_of(_edges, _runtime.plan.network, _placement, pace.pacing);
  const bool shares = _agreed == Neighborhood::allgather;
  const auto position = [](const std::vector<int>& among, int rank) {
    return static_cast<ChunkId>(std::ranges::find(among, rank) - among.begin());
  };
  const ChunkId first_received = shares ? 1 : std::ssize(destinations);
  schedule::Sink sink;
  Step last = 0;
  for (std::size_t at = 0; at < _edges.size(); ++at) {
    const planner::Edge& edge = _edges[at];
    last = std::max(last, steps[at]);
    const bool sends = edge.from == _communicator.rank;
    if (!sends && edge.to != _communicator.rank) continue;
    const ChunkId block = sends ? (shares ? 0 : position(destinations, edge.to))
                                : first_received + position(sources, edge.from);
    sink.add(edge.from, edge.to, steps[at], How::copy, Range{block});
  }
  sink.sort();
  const int all =
      static_cast<int>(std::max<std::ptrdiff_t>(1, std::ssize(sources) + std::ssize(destinations)));
  const int window = pace.window > 0 ? pace.window : all;
  std::string description(units::name_of(pace.pacing));
  if (pace.window > 0) description += ", window " + std::to_string(pace.window);
  return {std::make_shared<const Program>(std::move(sink), _communicator.rank, last + 1, 1),
          {.period = last + 1, .window = window},
          0,
          {},
          number_of(algorithms::find("listed")),
          std::move(description)};
}

} // namespace thalweg::runtime
