#include "mapping/scotch.hpp"

#include "mapping/starts.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <limits>

#ifdef THALWEG_HAS_SCOTCH
#include <cmath>
#include <cstdint> // scotch.h needs it and stdio.h
#include <cstdio>
#include <mutex>
#include <numeric>
#include <scotch.h>
#endif

namespace thalweg::mapping {

std::int64_t scotch_distance(std::int64_t weights, std::int64_t pairs) {
  constexpr std::int64_t fine = 500, most = std::numeric_limits<std::int32_t>::max();
  return std::min(
      {fine, most / std::max<std::int64_t>(1, weights), most / std::max<std::int64_t>(1, pairs)});
}

} // namespace thalweg::mapping

#ifdef THALWEG_HAS_SCOTCH

namespace thalweg::mapping {
namespace {

/// What the weights of pairs of ranks add up to, but for rounding: none is below 1.
constexpr double sum_of_weights = 2e6;

/// An object of Scotch's, which its exit function frees.
template <class Object, auto initialise, auto leave>
class Owned {
public:
  Owned() : _is_good(initialise(&_object) == 0) {}
  ~Owned() {
    if (_is_good) leave(&_object);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  [[nodiscard]] bool is_good() const { return _is_good; }
  Object* operator&() { return &_object; } // NOLINT: as Scotch's functions take it

private:
  Object _object;
  bool _is_good;
};
using Graph = Owned<SCOTCH_Graph, SCOTCH_graphInit, SCOTCH_graphExit>;
using Architecture = Owned<SCOTCH_Arch, SCOTCH_archInit, SCOTCH_archExit>;
using Context = Owned<SCOTCH_Context, SCOTCH_contextInit, SCOTCH_contextExit>;
using Strategy = Owned<SCOTCH_Strat, SCOTCH_stratInit, SCOTCH_stratExit>;

/// Makes the context deterministic: by itself Scotch uses as many threads as there are processors,
/// whose order decides what comes out.
bool prepare(Context& context) {
  if (!context.is_good() ||
      SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) != 0 ||
      SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMRANDOMFIXEDSEED, 1) != 0 ||
      SCOTCH_contextRandomClone(&context) != 0 ||
      SCOTCH_contextThreadSpawn(&context, 1, nullptr) != 0)
    return false;
  SCOTCH_contextRandomSeed(&context, 1);
  SCOTCH_contextRandomReset(&context);
  return true;
}

/// Lets what is done with a graph be done in the context.
bool bind(Context& context, Graph& graph, Graph& bound) {
  return bound.is_good() && SCOTCH_contextBindGraph(&context, &graph, &bound) == 0;
}

/// A graph in the form that Scotch reads, and keeps pointing to.
struct Arrays {
  std::vector<SCOTCH_Num> first = {0}, weights, neighbours, edges;

  bool build(Graph& graph) {
    return graph.is_good() &&
           SCOTCH_graphBuild(&graph, 0, static_cast<SCOTCH_Num>(first.size() - 1), first.data(),
                             nullptr, weights.empty() ? nullptr : weights.data(), nullptr,
                             static_cast<SCOTCH_Num>(neighbours.size()), neighbours.data(),
                             edges.data()) == 0;
  }
  [[nodiscard]] std::int64_t sum() const {
    return std::accumulate(edges.begin(), edges.end(), std::int64_t{0});
  }
};

/// All pairs of hosts, with distances from 1 to the largest.
Arrays hosts_as_graph(const Problem& problem, const HostCosts& costs,
                      const std::vector<HostId>& hosts, const std::vector<std::int32_t>& slots,
                      std::int64_t largest) {
  double most = 0;
  for (const HostId a : hosts)
    for (const HostId b : hosts)
      if (a != b) most = std::max(most, distance(problem, costs, a, b));
  Arrays graph;
  for (const HostId a : hosts) {
    for (std::size_t b = 0; b < hosts.size(); ++b) {
      if (hosts[b] == a) continue;
      const double apart = most > 0 ? distance(problem, costs, a, hosts[b]) / most : 1;
      graph.neighbours.push_back(static_cast<SCOTCH_Num>(b));
      graph.edges.push_back(
          std::max(1, static_cast<SCOTCH_Num>(std::lround(apart * static_cast<double>(largest)))));
    }
    graph.first.push_back(static_cast<SCOTCH_Num>(graph.neighbours.size()));
    graph.weights.push_back(slots[index(a)]);
  }
  return graph;
}

/// All pairs of ranks that exchange messages, weighted by what those cost on a middling pair of
/// hosts.
Arrays ranks_as_graph(const Problem& problem, const HostCosts& costs,
                      const std::vector<HostId>& hosts) {
  HostCosts::Pair sum;
  for (const HostId a : hosts)
    for (const HostId b : hosts) {
      sum.message += costs(a, b).message;
      sum.byte += costs(a, b).byte;
    }
  const Communication& all = problem.communication;
  const double whole = 2 * (all.messages() * sum.message + all.bytes() * sum.byte);
  Arrays graph;
  for (Rank rank = 0; rank < problem.ranks(); ++rank) {
    for (const Communication::Peer& peer : all.peers(rank)) {
      const double share = whole > 0 ? weight(peer, sum) / whole : 0;
      graph.neighbours.push_back(peer.rank);
      graph.edges.push_back(
          std::max(1, static_cast<SCOTCH_Num>(std::lround(share * sum_of_weights))));
    }
    graph.first.push_back(static_cast<SCOTCH_Num>(graph.neighbours.size()));
  }
  return graph;
}

} // namespace

bool has_scotch() { return true; }

std::optional<Placement> scotch(const Problem& problem, const HostCosts& costs,
                                const std::vector<std::int32_t>& slots) {
  std::vector<HostId> hosts;
  for (HostId host = 0; host < problem.network.size(); ++host)
    if (slots[index(host)] > 0) hosts.push_back(host);
  if (hosts.size() < 2)
    return repair(problem, costs, problem.slots, Placement(index(problem.ranks()), hosts.front()));
  Arrays ranks_graph = ranks_as_graph(problem, costs, hosts);
  if (ranks_graph.neighbours.empty()) return std::nullopt;
  const std::int64_t largest =
      scotch_distance(ranks_graph.sum(), std::ssize(hosts) * (std::ssize(hosts) - 1));
  if (largest == 0) return std::nullopt;
  Arrays hosts_graph = hosts_as_graph(problem, costs, hosts, slots, largest);
  std::vector<SCOTCH_Num> found(index(problem.ranks()));
  {
    static std::mutex mutex; // Scotch draws from one source of random numbers
    const std::lock_guard lock(mutex);
    SCOTCH_randomReset();
    Context context;
    Graph from, to, bound_from, bound_to;
    Architecture architecture;
    Strategy strategy;
    if (!prepare(context) || !architecture.is_good() || !strategy.is_good() ||
        !ranks_graph.build(from) || !hosts_graph.build(to) || !bind(context, from, bound_from) ||
        !bind(context, to, bound_to) ||
        SCOTCH_archBuild2(&architecture, &bound_to, 0, nullptr) != 0 ||
        SCOTCH_graphMap(&bound_from, &architecture, &strategy, found.data()) != 0)
      return std::nullopt;
  }
  Placement placement;
  for (const SCOTCH_Num at : found)
    placement.push_back(
        hosts[index(std::clamp<SCOTCH_Num>(at, 0, static_cast<SCOTCH_Num>(hosts.size() - 1)))]);
  return repair(problem, costs, slots, std::move(placement));
}

} // namespace thalweg::mapping

#else

namespace thalweg::mapping {

bool has_scotch() { return false; }

std::optional<Placement> scotch(const Problem& /*problem*/, const HostCosts& /*costs*/,
                                const std::vector<std::int32_t>& /*slots*/) {
  return std::nullopt;
}

} // namespace thalweg::mapping

#endif
