#pragma once

#include "collective/collective.hpp"

namespace thalweg::algorithms {

/// Ranks up to which an algorithm that takes ranks² steps builds quickly
/// (Algorithm::builds_quickly).
inline constexpr collective::Rank most_squared_ranks = 16384;

/// Ranks up to which each is tried with a tree of its own, which takes about ranks³ steps.
inline constexpr collective::Rank most_trees_per_rank = 64;

} // namespace thalweg::algorithms
