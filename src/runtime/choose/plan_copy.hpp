#pragma once

#include "planner/table.hpp"

#include <optional>
#include <string>

namespace thalweg::runtime {

/// Returns what tells a plan file from all others: its beginning, which has the size and the
/// checksum of the rest.
std::string seal_of(const std::string& plan);

/// Returns the plan file with this seal that a rank finds on its own machine; none if there isn't
/// one at `path`, or if it lies in a file system of the network, whose server all ranks would ask
/// at once. Never throws.
std::optional<planner::PlanFile> local_copy(const std::string& path, const std::string& seal);

} // namespace thalweg::runtime
