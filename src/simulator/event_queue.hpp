#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace thalweg::simulator {

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

struct TimedEvent {
  double time;
  std::uint32_t sequence; ///< equal times: in the order they were pushed
  std::int32_t id;        ///< of a message, or the rank that enters; for the wire what it likes
  std::uint32_t version;
  EventKind kind;
};

/// Earliest first.
class EventQueue {
public:
  void push(double time, EventKind kind, std::int32_t id, std::uint32_t version = 0) {
    _heap.push_back({time, _sequence++, id, version, kind});
    std::push_heap(_heap.begin(), _heap.end(), Later());
  }
  TimedEvent pop() {
    std::pop_heap(_heap.begin(), _heap.end(), Later());
    const TimedEvent event = _heap.back();
    _heap.pop_back();
    return event;
  }
  [[nodiscard]] bool empty() const { return _heap.empty(); }
  [[nodiscard]] double next_time() const { return _heap.front().time; }

private:
  struct Later { // A function would be called through a pointer.
    bool operator()(const TimedEvent& a, const TimedEvent& b) const {
      return a.time > b.time || (a.time == b.time && a.sequence > b.sequence);
    }
  };
  std::vector<TimedEvent> _heap;
  std::uint32_t _sequence = 0;
};

} // namespace thalweg::simulator
