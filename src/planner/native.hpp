#pragma once

#include "algorithms/algorithm.hpp"

#include <optional>
#include <string>

namespace thalweg::planner {

/// The MPI library's own time for the problem, interpolated log-log between the sizes that were
/// measured: at least two. Up to a factor 4 outside of them, the smallest one's time, and the
/// largest one's in proportion to the size. None if the placement isn't one rank on each host in
/// their order, as measured.
std::optional<units::Time> native_time(const algorithms::Problem& problem,
                                       const std::string& library);

} // namespace thalweg::planner
