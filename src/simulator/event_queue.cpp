#include "simulator/event_queue.hpp"

#include <algorithm>
#include <limits>

namespace thalweg::simulator {

namespace {
/// Buckets for each event that waits when they are filled: far more events come between than wait.
constexpr std::size_t buckets_per_event = 4;
/// Events for each bucket from which on there are too few: a burst began after they were filled.
constexpr std::size_t crowded = 2;
/// The shortest bucket, relative to its time: rounding must not fill it with later events.
constexpr double shortest_bucket = 1e-12;
} // namespace

/// Reaches the next bucket that isn't empty, if any event waits.
void EventQueue::refill() {
  while (empty()) {
    if (_listed == 0) return;
    if (_next == _count || _listed > crowded * _count) fill_buckets();
    reach(_buckets[_next++]);
  }
}

void EventQueue::reach(List& bucket) {
  _bucket.clear();
  _reached = 0;
  const auto [first, last] = std::exchange(bucket, {});
  if (first == none) return;
  for (std::int32_t place = first; place != none;) {
    const Waiting& waiting = _waiting[static_cast<std::size_t>(place)];
    _bucket.push_back(waiting.event);
    place = waiting.next;
  }
  _waiting[static_cast<std::size_t>(last)].next = std::exchange(_free, first);
  _listed -= _bucket.size();
  // Events of one time, of which alike hosts have many, are in order already.
  if (!std::is_sorted(_bucket.begin(), _bucket.end())) std::sort(_bucket.begin(), _bucket.end());
}

/// Cuts the time of all events that wait into new buckets.
void EventQueue::fill_buckets() {
  List rest;
  for (; _next < _count; ++_next)
    append(rest, std::exchange(_buckets[_next], {}));
  append(rest, std::exchange(_beyond, {}));
  double first = std::numeric_limits<double>::infinity(), last = 0;
  for (std::int32_t place = rest.first; place != none;) {
    const Waiting& waiting = _waiting[static_cast<std::size_t>(place)];
    first = std::min(first, waiting.event.time);
    last = std::max(last, waiting.event.time);
    place = waiting.next;
  }
  _begin = finite(first);
  _next = 0;
  _count = 2 + _listed * buckets_per_event;
  if (_buckets.size() < _count) _buckets.resize(_count);
  const double end = finite(last);
  const double shortest = std::max(shortest_bucket * end, std::numeric_limits<double>::min());
  // The last event is in the last bucket.
  _buckets_per_second = 1 / std::max(shortest, (end - _begin) / static_cast<double>(_count - 1));
  for (std::int32_t place = rest.first; place != none;) {
    Waiting& waiting = _waiting[static_cast<std::size_t>(place)];
    const std::int32_t next = std::exchange(waiting.next, none);
    append(_buckets[static_cast<std::size_t>(bucket(waiting.event.time))], {place, place});
    place = next;
  }
}

} // namespace thalweg::simulator
