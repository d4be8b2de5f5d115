#include "probe/pace.hpp"

#include <algorithm>
#include <cmath>

namespace thalweg::probe {
namespace {

constexpr Size smallest = 10'000, largest = 60'000;
constexpr double shortest_stream = 5e6; // nanoseconds
constexpr double start_up = 3;          // round trips of slow start that don't count
constexpr double round_trips = 1.5;     // what the steady part must outlast
constexpr double overlap = 2;           // of a crowd's steady parts, in those of one stream
constexpr double first_arrivals = 0.5;  // round trips between the first of a crowd's flows

} // namespace

Pace pace_for(double bytes, Size eager_limit, Size pieces) {
  constexpr Size least_limit = 256; // smaller messages keep a fast link waiting for the ranks
  const double total = std::clamp(bytes, fewest_bytes, most_bytes);
  const Size wanted = std::clamp(static_cast<Size>(total) / pieces, smallest, largest);
  const Size size = eager_limit >= least_limit ? std::min(wanted, eager_limit) : wanted;
  return {static_cast<std::int64_t>(std::ceil(total / static_cast<double>(size))), size};
}

Nanoseconds slow_start(Nanoseconds round_trip) {
  return static_cast<Nanoseconds>(start_up * static_cast<double>(round_trip));
}

Nanoseconds long_enough(Nanoseconds round_trip, double dilation) {
  return static_cast<Nanoseconds>(
      std::max(shortest_stream * dilation, round_trips * static_cast<double>(round_trip)));
}

Nanoseconds long_enough_for_crowd(Nanoseconds round_trip, double dilation) {
  const double steady = overlap * std::max(2 * shortest_stream * dilation,
                                           round_trips * static_cast<double>(round_trip));
  const double begin = first_arrivals * static_cast<double>(round_trip);
  return slow_start(round_trip) + static_cast<Nanoseconds>(begin + steady);
}

} // namespace thalweg::probe
