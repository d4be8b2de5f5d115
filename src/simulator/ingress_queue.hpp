#pragma once

#include <vector>

namespace thalweg::simulator {

/// What has come to a host's ingress and hasn't passed it yet. FluidWire shares the ingress when
/// data leaves its senders; data from near and far senders that left at different times may come
/// together, and then waits here in the order in which it comes.
class IngressQueue {
public:
  /// @param capacity bytes per second
  explicit IngressQueue(double capacity) : _capacity(capacity) {}
  /// From `time` on, `rate` more bytes per second come. O(1); until the next delay() changes of one
  /// time are added up if they follow each other closely: flows from a site change together.
  void change(double time, double rate);
  /// Returns the seconds for which what comes `now` waits. `now` doesn't decrease. O(log changes
  /// still to come) for each change since the last call.
  double delay(double now);

private:
  struct Change {
    double time, rate;
  };
  void advance(double now);

  std::vector<Change> _recent;  ///< since the last delay()
  std::vector<Change> _changes; ///< still to come, but for these: a heap, earliest first
  double _capacity;
  double _rate = 0, _backlog = 0, _since = 0;
};

} // namespace thalweg::simulator
