#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace thalweg::simulator {

/// Pops the earliest event first. Keeps the earliest apart from the heap, since an event just
/// pushed is often the next.
/// @tparam Event has operator<: whether it comes before another
template <class Event>
class EventHeap {
public:
  void clear() {
    _heap.clear();
    _has_first = false;
  }
  void push(Event event);
  Event pop();
  /// Returns the event to pop; there must be one.
  [[nodiscard]] const Event& front() const { return _has_first ? _first : _heap.front(); }
  [[nodiscard]] bool empty() const { return !_has_first && _heap.empty(); }

private:
  void sift_up(std::size_t hole, Event event);
  Event pop_heap();

  std::vector<Event> _heap; ///< the children of i are 4 i + 1 ... 4 i + 4
  Event _first{};           ///< earlier than the heap's
  bool _has_first = false;
};

template <class Event>
void EventHeap<Event>::push(Event event) {
  if (!_has_first && (_heap.empty() || event < _heap.front())) {
    _first = event;
    _has_first = true;
    return;
  }
  if (_has_first && event < _first) std::swap(event, _first);
  _heap.push_back(event);
  sift_up(_heap.size() - 1, event);
}

template <class Event>
Event EventHeap<Event>::pop() {
  if (!_has_first) return pop_heap();
  _has_first = false;
  return _first;
}

template <class Event>
void EventHeap<Event>::sift_up(std::size_t hole, Event event) {
  for (; hole > 0 && event < _heap[(hole - 1) / 4]; hole = (hole - 1) / 4)
    _heap[hole] = _heap[(hole - 1) / 4];
  _heap[hole] = event;
}

template <class Event>
Event EventHeap<Event>::pop_heap() {
  const Event top = _heap.front(), last = _heap.back();
  _heap.pop_back();
  const std::size_t size = _heap.size();
  if (size == 0) return top;
  Event* const heap = _heap.data();
  std::size_t hole = 0, child = 1;
  for (; child + 3 < size; child = 4 * hole + 1) {
    const std::size_t a = heap[child + 1] < heap[child] ? child + 1 : child;
    const std::size_t b = heap[child + 3] < heap[child + 2] ? child + 3 : child + 2;
    const std::size_t least = heap[b] < heap[a] ? b : a;
    heap[hole] = heap[least];
    hole = least;
  }
  if (child < size) {
    std::size_t least = child;
    for (std::size_t other = child + 1; other < size; ++other)
      least = heap[other] < heap[least] ? other : least;
    heap[hole] = heap[least];
    hole = least;
  }
  sift_up(hole, last);
  return top;
}

enum class EventKind : std::uint8_t {
  enter,    ///< a rank enters the collective
  ready,    ///< a message may flow
  request,  ///< a handshake's request is at the receiver
  sent,     ///< a message's last byte has left
  arrived,  ///< a message's last byte is at the receiver
  received, ///< a message is in place
  wire,     ///< for the wire
  grow,     ///< for the wire
  pass,     ///< for the wire
};

/// Events whose times differ relatively by less than this count as simultaneous.
inline constexpr double simultaneous = 1 + 1e-13;

struct TimedEvent {
  double time;
  std::uint32_t sequence; ///< equal times: in the order they were pushed
  std::int32_t id;        ///< of a message, or the rank that enters; for the wire what it likes
  std::uint32_t version;
  EventKind kind;
  /// Compares without branches, since their outcome is unpredictable.
  bool operator<(const TimedEvent& other) const {
    const auto is = [](bool truth) { return static_cast<unsigned>(truth); };
    const unsigned sooner = is(time == other.time) & is(sequence < other.sequence);
    return (is(time < other.time) | sooner) != 0;
  }
};

/// Earliest first. Pipelines over long paths keep thousands of events waiting, of which few come
/// next: only these are in order. The later ones wait unsorted, in buckets by time, and what comes
/// after the last bucket waits for the next set of buckets. Buckets are lists in common memory,
/// since few events are in one and their numbers differ. A bucket is sorted when it is reached;
/// what is pushed into it afterwards is in a heap. Amortised O(1) if times are spread evenly,
/// O(log events) in any case.
class EventQueue {
public:
  void push(double time, EventKind kind, std::int32_t id, std::uint32_t version = 0);
  TimedEvent pop();
  [[nodiscard]] bool empty() const { return _reached == _bucket.size() && _near.empty(); }
  [[nodiscard]] double next_time() const {
    return is_next_in_bucket() ? _bucket[_reached].time : _near.front().time;
  }

private:
  /// Returns the bucket of a time; it may be negative, or `_count` and more.
  [[nodiscard]] double bucket(double time) const {
    return (finite(time) - _begin) * _buckets_per_second;
  }
  [[nodiscard]] static double finite(double time) {
    return std::min(time, std::numeric_limits<double>::max());
  }
  /// Lets all events up to a time be near, when none waits.
  void begin(double time) {
    _begin = finite(time);
    _buckets_per_second = 1;
    _next = _count = 0;
  }
  /// Whether the next event is in the bucket that was reached, not in the heap.
  [[nodiscard]] bool is_next_in_bucket() const {
    return _reached < _bucket.size() && (_near.empty() || _bucket[_reached] < _near.front());
  }
  /// An event that isn't near, in the list of its bucket or of free places.
  struct Waiting {
    TimedEvent event;
    std::int32_t next;
  };
  struct List {
    std::int32_t first = none, last = none;
  };
  static constexpr std::int32_t none = -1;

  void wait(const TimedEvent& event, List& list);
  void append(List& list, const List& more);
  void refill();
  void reach(List& bucket);
  void fill_buckets();

  // Events before the bucket `_next`; there are some if any event waits.
  std::vector<TimedEvent> _bucket; ///< the one reached last, in order
  std::size_t _reached = 0;        ///< events of it that were popped
  EventHeap<TimedEvent> _near;     ///< those pushed since
  std::vector<Waiting> _waiting;
  std::int32_t _free = none;  ///< the first free place of _waiting
  std::vector<List> _buckets; ///< empty from `_count` on, and before `_next`
  List _beyond;               ///< after the last bucket
  std::size_t _listed = 0;    ///< events in the lists
  std::size_t _next = 0, _count = 0;
  double _begin = 0, _buckets_per_second = 0;
  std::uint32_t _sequence = 0;
};

inline void EventQueue::push(double time, EventKind kind, std::int32_t id, std::uint32_t version) {
  const TimedEvent event{time, _sequence++, id, version, kind};
  const bool is_only = empty();
  if (is_only) begin(time);
  const double at = bucket(time);
  if (is_only || at < static_cast<double>(_next))
    _near.push(event);
  else if (at < static_cast<double>(_count))
    wait(event, _buckets[static_cast<std::size_t>(at)]);
  else
    wait(event, _beyond);
}

inline void EventQueue::wait(const TimedEvent& event, List& list) {
  std::int32_t place = _free;
  if (place == none) {
    place = static_cast<std::int32_t>(_waiting.size());
    _waiting.push_back({event, none});
  } else {
    _free = std::exchange(_waiting[static_cast<std::size_t>(place)], {event, none}).next;
  }
  append(list, {place, place});
  ++_listed;
}

inline void EventQueue::append(List& list, const List& more) {
  if (more.first == none) return;
  (list.first == none ? list.first : _waiting[static_cast<std::size_t>(list.last)].next) =
      more.first;
  list.last = more.last;
}

inline TimedEvent EventQueue::pop() {
  const TimedEvent event = is_next_in_bucket() ? _bucket[_reached++] : _near.pop();
  if (empty()) refill();
  return event;
}

} // namespace thalweg::simulator
