#pragma once

#include "planner/table.hpp"

#include <optional>
#include <string>

namespace thalweg::runtime {

/// Returns what tells a plan file from all others: its beginning, which has the size and the
/// checksum of the rest.
std::string seal_of(const std::string& plan);

/// A plan file that a rank has read by itself.
struct PlanCopy {
  std::string seal; ///< seal_of() its content
  planner::PlanFile plan;
};

/// Returns the plan file that a rank finds on its own machine; none if there isn't a whole one at
/// `path`, or if it lies in a file system of the network, whose server all ranks would ask at once.
/// Never throws.
std::optional<PlanCopy> local_copy(const std::string& path);

} // namespace thalweg::runtime
