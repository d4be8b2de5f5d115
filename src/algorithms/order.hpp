#pragma once

#include "algorithms/algorithm.hpp"

#include <map>
#include <optional>
#include <utility>

namespace thalweg::algorithms {

/// Which links an order of ranks uses.
enum class Shape : std::uint8_t {
  chain,     ///< from each position to the next
  both_ways, ///< a chain's links and their reverses, at once
  ring,      ///< a chain, and from the last position to the first
};

/// Orders by closeness and the central rank, kept from one build() to the next: for one network and
/// placement.
class Orders {
public:
  const std::vector<Rank>& closeness(const Problem& problem, Rank first, Shape shape);
  Rank central(const Problem& problem);

private:
  std::map<std::pair<Rank, Shape>, std::vector<Rank>> _known;
  std::optional<Rank> _central;
};

/// As closeness_order, for the links of a shape; the start is chosen if `first` is no_rank.
std::vector<Rank> closeness_order(const Network& network, const Placement& placement, Rank first,
                                  Shape shape);

/// The order that the parameters ask for. By rank it is first, first + 1, ... as MPI libraries do.
std::vector<Rank> make_order(const Problem& problem, const Parameters& parameters, Rank first,
                             Shape shape);

/// The rank that is nearest to all others, there and back; the lowest of equals. O(hosts²).
Rank central_rank(const Problem& problem);

} // namespace thalweg::algorithms
