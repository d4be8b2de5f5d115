#pragma once

#include "algorithms/trees/latency_weight.hpp"
#include "networks.hpp"

#include <algorithm>
#include <vector>

/// The LogP model of a bcast along a tree, to hold HLOT's trees against.
namespace thalweg::algorithms::testing {

/// The LogP model's parameters in seconds, without latency and the number of processors.
struct LogP {
  double send_overhead = 0, gap = 0, receive_overhead = 0;
};

/// Returns when each rank has the data of a bcast along a skeleton's tree, in seconds from the
/// beginning. The c-th child of j gets it at T_j + (c - 1) max(o, g) + o + L + o_r; the bcast takes
/// the largest of these times.
/// Source: Park et al.: HLOT, equations 1 to 4, read as docs/decisions/0019-trees-of-the-papers.md
/// says; Culler et al.: LogP.
inline std::vector<double> delivery_times(const Skeleton& skeleton, const LogP& costs,
                                          const optimization::LinkWeight& latency) {
  const std::vector<Rank>& parents = skeleton.parents.front();
  std::vector<double> times(parents.size());
  std::vector<int> served(parents.size());
  for (const Rank rank : skeleton.order) {
    const Rank parent = parents[index(rank)];
    if (parent == collective::no_rank) continue;
    times[index(rank)] = times[index(parent)] +
                         served[index(parent)]++ * std::max(costs.send_overhead, costs.gap) +
                         costs.send_overhead + latency(parent, rank) + costs.receive_overhead;
  }
  return times;
}

} // namespace thalweg::algorithms::testing
