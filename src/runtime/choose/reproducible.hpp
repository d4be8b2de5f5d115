#pragma once

#include "runtime/choose/force.hpp"

namespace thalweg::runtime {

/// Whether the result of a collective depends on the order in which data is combined: reductions,
/// but not a barrier.
constexpr bool depends_on_order(collective::Kind kind) {
  return collective::is_reduction(kind) && kind != collective::Kind::barrier;
}

/// Returns how a reduction is executed with THALWEG_REPRODUCIBLE=1: by an algorithm whose order of
/// combination depends only on the number of ranks, the root and the number of elements. So each
/// element of the result is the same expression on every network, with every plan and placement.
/// @param size as Collective::size
Force::Directive reproducible_choice(collective::Kind reduction, units::Size size);

} // namespace thalweg::runtime
