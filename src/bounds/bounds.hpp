#pragma once

#include "algorithms/algorithm.hpp"

#include <string>

/// Proven lower limits of the time of a collective on a network. Formulas that only look like
/// bounds are not here.
namespace thalweg::bounds {

using algorithms::Problem;
using units::Time;

/// A proven lower limit of last exit − last entry (minus the root's entry where the root alone
/// sends).
struct Bound {
  Time time{};
  std::string reason; ///< the cut or path that sets it, for people: "trunk east->west: 8MB / 1Gbps"
};

/// Capacities are those of many flows; a single flow's bandwidth doesn't limit it, except where
/// nothing else is known. Cost: bcast one max-flow per host, O(H^3) each.
/// @throws std::invalid_argument for a collective without a bound yet
Bound bound(const Problem& problem);

} // namespace thalweg::bounds
