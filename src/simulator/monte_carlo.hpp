#pragma once

#include "simulator/simulator.hpp"

#include <cstdint>
#include <vector>

namespace thalweg::simulator {

/// How random trees are drawn.
enum class Generator : std::uint8_t {
  binomial,  ///< the binomial tree of MPI libraries, the ranks below the root at random
  recursive, ///< the ranks join in random order, each below any of those in the tree already
};

/// The trees to draw, and the requested statistics.
struct Draw {
  Generator generator = Generator::binomial;
  std::int64_t count = 1; ///< number of trees
  std::uint64_t seed = 1;
  std::vector<double> quantiles = {0.01, 0.1, 0.5, 0.9, 0.99}; ///< of the times, within 0.1 %
  int bins = 50;                                               ///< of the histogram
};

/// Bins of equal width, the first of which begins at the least time.
struct Histogram {
  Time begin{}, width{};
  std::vector<std::int64_t> counts;
};

/// The times of random trees.
struct Sample {
  std::int64_t count = 0;
  Time minimum{}, maximum{}, mean{};
  std::vector<Rank> order, parents; ///< the first of the fastest trees, as Skeleton has them
  std::vector<Time> quantiles;      ///< as asked for
  Histogram histogram;              ///< of all times, each within 0.1 %
};

/// Simulates random trees with TreeTime, as Gong, He, Zhong: Network Performance Aware MPI
/// Collective Communication Operations in the Cloud, Figure 9. Deterministic for a seed. O(count *
/// ranks log ranks).
/// @throws std::invalid_argument as TreeTime, or if the count or bins are below 1 or a quantile
/// isn't from 0 to 1
Sample monte_carlo(const Problem& problem, const Draw& draw, const SimulationOptions& options);

} // namespace thalweg::simulator
