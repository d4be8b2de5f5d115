#include "algorithms/trees/log_p.hpp"

#include <algorithm>

namespace thalweg::algorithms {

std::vector<double> delivery_times(const Skeleton& skeleton, const LogP& costs,
                                   const optimization::LinkWeight& latency) {
  const std::vector<Rank>& parents = skeleton.parents.front();
  std::vector<double> times(parents.size());
  std::vector<int> served(parents.size());
  for (const Rank rank : skeleton.order) {
    const Rank parent = parents[static_cast<std::size_t>(rank)];
    if (parent == collective::no_rank) continue;
    const auto at = static_cast<std::size_t>(parent);
    times[static_cast<std::size_t>(rank)] =
        times[at] + served[at]++ * std::max(costs.send_overhead, costs.gap) + costs.send_overhead +
        latency(parent, rank) + costs.receive_overhead;
  }
  return times;
}

} // namespace thalweg::algorithms
