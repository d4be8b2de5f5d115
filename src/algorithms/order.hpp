#pragma once

#include "algorithms/algorithm.hpp"

namespace thalweg::algorithms {

/// Which links an order of ranks uses.
enum class Shape : std::uint8_t {
  chain,           ///< from each position to the next
  both_directions, ///< a chain's links and their reverses at the same time
  ring,            ///< a chain, and from the last position to the first
};

/// Does the same as closeness_order() for the links of a shape; chooses the start if `first` is
/// no_rank.
std::vector<Rank> closeness_order(const Network& network, const Placement& placement, Rank first,
                                  Shape shape);

/// Returns the order that the parameters ask for. By rank it is first, first + 1, ... as in MPI
/// libraries.
std::vector<Rank> make_order(const Problem& problem, const Parameters& parameters, Rank first,
                             Shape shape);

/// Returns the rank nearest to all others, there and back; the lowest of equals. O(hosts²).
Rank central_rank(const Problem& problem);

} // namespace thalweg::algorithms
