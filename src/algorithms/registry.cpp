#include "algorithms/algorithm.hpp"

#include <array>
#include <stdexcept>

namespace thalweg::algorithms {

/// One line per algorithm: the function that its file defines, sorted by name.
// clang-format off
#define THALWEG_ALGORITHMS(line)     \
  line(binary)                       \
  line(binary_scan)                  \
  line(binomial)                     \
  line(bruck)                        \
  line(butterfly)                    \
  line(chain)                        \
  line(dissemination)                \
  line(distance_tree)                \
  line(double_ring)                  \
  line(earliest_tree)                \
  line(exchange)                     \
  line(far_first)                    \
  line(flat)                         \
  line(group_exchange)               \
  line(group_tree)                   \
  line(hierarchical)                 \
  line(hlot)                         \
  line(knomial)                      \
  line(linear)                       \
  line(linear_scan)                  \
  line(linear_sync)                  \
  line(listed)                       \
  line(look_ahead_tree)              \
  line(magpie)                       \
  line(mesh)                         \
  line(minimum_spanning_tree)        \
  line(mpich_g2)                     \
  line(neighbor_exchange)            \
  line(paced_linear)                 \
  line(packed_trees)                 \
  line(pairwise)                     \
  line(pipelined_chain)              \
  line(postal_tree)                  \
  line(rabenseifner)                 \
  line(recursive_doubling)           \
  line(recursive_doubling_allgather) \
  line(recursive_doubling_scan)      \
  line(recursive_halving)            \
  line(ring)                         \
  line(scatter_allgather)            \
  line(scatter_doubling)             \
  line(shortest_path_tree)           \
  line(site_rabenseifner)            \
  line(site_scatter_allgather)       \
  line(slowest_first)                \
  line(split_binary)                 \
  line(declared_tree)                \
  line(tree_per_rank)                \
  line(two_tier)
// clang-format on

#define THALWEG_DECLARE(algorithm) const Algorithm& algorithm();
THALWEG_ALGORITHMS(THALWEG_DECLARE)

std::span<const Algorithm* const> all() {
#define THALWEG_ENTRY(algorithm) &algorithm(),
  static const std::array list = {THALWEG_ALGORITHMS(THALWEG_ENTRY)};
  return list;
}

const Algorithm& find(std::string_view name) {
  for (const Algorithm* algorithm : all())
    if (algorithm->name() == name) return *algorithm;
  std::string known;
  for (const Algorithm* algorithm : all()) {
    known += known.empty() ? "" : ", ";
    known += algorithm->name();
  }
  throw std::invalid_argument("no algorithm is called \"" + std::string(name) +
                              "\"; there are: " + known);
}

} // namespace thalweg::algorithms
