#pragma once

#include <cstdint>

namespace thalweg::runtime {

/// How units (bytes, or elements of a reduction) lie in memory: unit i begins at base + i × extent
/// and occupies `true_extent` bytes from `true_lower_bound`, as MPI defines them.
struct UnitShape {
  std::int64_t extent = 1;
  std::int64_t true_lower_bound = 0;
  std::int64_t true_extent = 1;
  std::int64_t bytes = 1; ///< of data in one unit

  /// Bytes from the first to the last that `units` units occupy.
  [[nodiscard]] std::int64_t span(std::int64_t units) const {
    return units == 0 ? 0 : (units - 1) * extent + true_extent;
  }
};

} // namespace thalweg::runtime
