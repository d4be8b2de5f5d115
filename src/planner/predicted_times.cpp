#include "planner/predicted_times.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace thalweg::planner {

namespace {

using Quantity = std::int64_t PredictedTimes::*;

/// The longest time that is kept: 30 years.
constexpr double most_ns = 1e18;

/// Returns the time for a size by the line through two others, the first of which is smaller.
double on_line(const PredictedTimes& first, const PredictedTimes& second, Quantity quantity,
               Size size) {
  const double share =
      static_cast<double>(size - first.size) / static_cast<double>(second.size - first.size);
  const auto begin = static_cast<double>(first.*quantity);
  const auto end = static_cast<double>(second.*quantity);
  // Beyond both, calls don't take less because larger ones happened to be predicted faster.
  return share > 1 ? std::max(end, begin + share * (end - begin)) : std::lerp(begin, end, share);
}

double interpolate(std::span<const PredictedTimes> known, Quantity quantity, Size size) {
  const PredictedTimes* before = nullptr; // the two known ones next to the size
  const PredictedTimes* after = nullptr;
  for (const PredictedTimes& each : known) {
    if (each.*quantity == 0) continue;
    before = after;
    after = &each;
    if (each.size >= size) break;
  }
  if (after == nullptr) return 0;
  if (before != nullptr) return on_line(*before, *after, quantity, size);
  const auto only = static_cast<double>(after->*quantity);
  if (size <= after->size) return only;
  return only * static_cast<double>(size) / static_cast<double>(std::max<Size>(1, after->size));
}

} // namespace

std::int64_t nanoseconds(Time time) {
  return static_cast<std::int64_t>(std::llround(std::min(time.value() * 1e9, most_ns)));
}

PredictedTimes predicted_times(const Plan& plan, Size size) {
  return {size, nanoseconds(plan.predicted), nanoseconds(plan.native.time),
          nanoseconds(plan.bound.time)};
}

void add(std::vector<PredictedTimes>& times, const PredictedTimes& added) {
  const auto at = std::ranges::lower_bound(times, added.size, {}, &PredictedTimes::size);
  if (at == times.end() || at->size != added.size) times.insert(at, added);
}

PredictedTimes interpolate(std::span<const PredictedTimes> known, Size size) {
  PredictedTimes found{size};
  for (const Quantity quantity : PredictedTimes::times())
    found.*quantity = std::llround(std::min(interpolate(known, quantity, size), most_ns));
  return found;
}

std::vector<PredictedTimes> in_proportion(std::span<const PredictedTimes> there,
                                          const PredictedTimes& here) {
  const PredictedTimes same_size = interpolate(there, here.size);
  std::vector<PredictedTimes> scaled = {here};
  for (PredictedTimes each : there) {
    for (const Quantity quantity : PredictedTimes::times())
      if (same_size.*quantity > 0)
        each.*quantity = std::llround(std::min(
            most_ns, static_cast<double>(each.*quantity) * static_cast<double>(here.*quantity) /
                         static_cast<double>(same_size.*quantity)));
      else
        each.*quantity = 0;
    add(scaled, each);
  }
  return scaled;
}

} // namespace thalweg::planner
