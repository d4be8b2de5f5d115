#include "algorithms/cache.hpp"

namespace thalweg::algorithms {

std::shared_ptr<const network::TrunkSets> trunk_sets(const Problem& problem) {
  const auto find = [&] { return std::make_shared<const network::TrunkSets>(problem.network); };
  return problem.cache != nullptr ? problem.cache->trunk_sets(find) : find();
}

} // namespace thalweg::algorithms
