#include "probe/eager_search.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <bit>

namespace thalweg::probe {
namespace {

constexpr Size usual_limit = 1024; ///< few limits are smaller

} // namespace

Size find_limit(const std::function<bool(Size)>& eager) {
  Size below = 0, above = usual_limit;
  if (eager(usual_limit)) {
    // The largest power of two that is eager.
    int eager_power = 0, other_power = std::bit_width(index(largest_limit / usual_limit));
    while (other_power - eager_power > 1) {
      const int middle = (eager_power + other_power) / 2;
      (eager(usual_limit << middle) ? eager_power : other_power) = middle;
    }
    below = usual_limit << eager_power;
    if (below >= largest_limit) return below;
    above = 2 * below;
  }
  // Round sizes lie just below usual limits: 64,000 bytes are sent eagerly where 64 KiB are.
  while (above - below > std::max(below / 64, finest_limit)) {
    const Size middle = (below + above) / 2;
    (eager(middle) ? below : above) = middle;
  }
  return below;
}

Size above_limit(Size limit) { return limit + std::max(limit / 8, 2 * finest_limit); }

} // namespace thalweg::probe
