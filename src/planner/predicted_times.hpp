#pragma once

#include "planner/planner.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace thalweg::planner {

/// What calls of one size are predicted to take, in nanoseconds; 0: not known.
struct PredictedTimes {
  Size size = 0;
  std::int64_t plan_ns = 0;   ///< of the choice, which may be native
  std::int64_t native_ns = 0; ///< of the library's own collective
  std::int64_t bound_ns = 0;  ///< the lower limit on the network
  bool operator==(const PredictedTimes&) const = default;
  static constexpr auto fields() {
    using units::Field;
    return std::tuple{Field("size", &PredictedTimes::size, 0),
                      Field("plan_ns", &PredictedTimes::plan_ns, 0),
                      Field("native_ns", &PredictedTimes::native_ns, 0),
                      Field("bound_ns", &PredictedTimes::bound_ns, 0)};
  }
  /// The times among the fields.
  static constexpr auto times() {
    return std::array{&PredictedTimes::plan_ns, &PredictedTimes::native_ns,
                      &PredictedTimes::bound_ns};
  }
};

std::int64_t nanoseconds(Time time);

/// Returns what was predicted when a plan was made for a size.
PredictedTimes predicted_times(const Plan& plan, Size size);

/// Adds a size's times in its place, unless others of that size are there.
void add(std::vector<PredictedTimes>& times, const PredictedTimes& added);

/// Returns the times for a size by those of others: between two of them by interpolation, above the
/// largest one as the last two let expect, or in proportion to the size after a single one; below
/// the smallest one those of that. O(number of sizes).
/// @param known ascending by size
PredictedTimes interpolate(std::span<const PredictedTimes> known, Size size);

/// Returns the times of one root's calls by those of another's: in proportion, so that they are
/// `here` for that size. That of the plan is meant for the same plan.
/// @param there of the other root, ascending by size; not empty
std::vector<PredictedTimes> in_proportion(std::span<const PredictedTimes> there,
                                          const PredictedTimes& here);

} // namespace thalweg::planner
