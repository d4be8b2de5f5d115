#include "simulator/event_queue.hpp"

#include <algorithm>
#include <limits>

namespace thalweg::simulator {

namespace {
/// Events in a bucket, on average, when buckets are filled.
constexpr std::size_t events_per_bucket = 4;
/// The shortest bucket, relative to its time: rounding must not fill it with later events.
constexpr double shortest_bucket = 1e-12;
} // namespace

/// Reaches the next bucket that isn't empty, if any event waits.
void EventQueue::refill() {
  while (empty()) {
    if (_next == _count) {
      if (_beyond.empty()) return;
      fill_buckets();
    }
    reach(_buckets[_next++]);
  }
}

void EventQueue::reach(std::vector<TimedEvent>& bucket) {
  _bucket.clear();
  _reached = 0;
  std::swap(_bucket, bucket);
  // Events of one time, of which alike hosts have many, are in order already.
  if (!std::is_sorted(_bucket.begin(), _bucket.end())) std::sort(_bucket.begin(), _bucket.end());
}

/// Cuts the time of the events beyond the last bucket into new buckets.
void EventQueue::fill_buckets() {
  const auto [first, last] =
      std::ranges::minmax_element(_beyond, {}, [](const TimedEvent& event) { return event.time; });
  _begin = finite(first->time);
  _next = 0;
  _count = 2 + _beyond.size() / events_per_bucket;
  if (_buckets.size() < _count) _buckets.resize(_count);
  const double end = finite(last->time);
  const double shortest = std::max(shortest_bucket * end, std::numeric_limits<double>::min());
  // The last event is in the last bucket.
  _buckets_per_second = 1 / std::max(shortest, (end - _begin) / static_cast<double>(_count - 1));
  for (const TimedEvent& event : _beyond)
    _buckets[static_cast<std::size_t>(bucket(event.time))].push_back(event);
  _beyond.clear();
}

} // namespace thalweg::simulator
