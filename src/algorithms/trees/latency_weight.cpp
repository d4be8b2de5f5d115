#include "algorithms/trees/latency_weight.hpp"

#include "algorithms/trees/tree.hpp"

#include <algorithm>

namespace thalweg::algorithms {

optimization::LinkWeight latency_weight(const Problem& problem) {
  const collective::Kind kind = problem.collective.kind;
  return [&problem, kind](Rank upper, Rank lower) {
    const network::HostId a = problem.placement[static_cast<std::size_t>(upper)],
                          b = problem.placement[static_cast<std::size_t>(lower)];
    if (a == b) return 0.0;
    const double down = flows_down(kind) ? problem.network.latency(a, b).value() : 0;
    const double up = flows_up(kind) ? problem.network.latency(b, a).value() : 0;
    return std::max(down, up);
  };
}

} // namespace thalweg::algorithms
