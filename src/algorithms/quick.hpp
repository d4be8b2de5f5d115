#pragma once

#include "collective/collective.hpp"

namespace thalweg::algorithms {

/// Ranks up to which an algorithm that takes ranks² steps builds quickly
/// (Algorithm::builds_quickly).
inline constexpr collective::Rank most_squared_ranks = 16384;

} // namespace thalweg::algorithms
