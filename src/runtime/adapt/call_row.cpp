#include "runtime/adapt/call_row.hpp"

#include <limits>

namespace thalweg::runtime {
namespace {

/// So many calls of one shape in a row are simulated where others aren't known.
constexpr std::size_t least_row = 6;

} // namespace

CallRow::CallRow(const Observations& seen, const CalledShape& shape) : _seen(seen) {
  for (const CalledShape& called : seen.row)
    add(called, shape);
  if (std::ranges::none_of(_calls, &Call::is_meant)) _calls.clear();
  if (_calls.empty())
    for (std::size_t i = 0; i < least_row && add(shape, shape); ++i) {
    }
}

/// Adds a call. Returns whether it is planned.
bool CallRow::add(const CalledShape& called, const CalledShape& shape) {
  const planner::Entry* const entry =
      _seen.table.find(called.key.kind, called.key.root, called.size);
  if (entry == nullptr || entry->native) return false;
  _calls.push_back({_seen.collective_of(called), &entry->skeleton, called.key == shape.key});
  return true;
}

double CallRow::seconds_with(const algorithms::Skeleton& plan, const Network& network) const {
  double sum = 0, calls = 0;
  simulate_all(network, size(), &plan, [&](const Call&, const simulator::Posts&, double seconds) {
    sum += seconds;
    ++calls;
  });
  return calls > 0 ? sum / calls : std::numeric_limits<double>::infinity();
}

} // namespace thalweg::runtime
