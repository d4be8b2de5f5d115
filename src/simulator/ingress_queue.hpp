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
  /// From `time` on, `rate` more bytes per second come. O(log changes still to come).
  void change(double time, double rate);
  /// Returns the seconds for which what comes `now` waits. `now` doesn't decrease.
  double delay(double now);

private:
  struct Change {
    double time, rate;
  };
  void advance(double now);

  std::vector<Change> _changes; ///< still to come: a heap, earliest first
  double _capacity;
  double _rate = 0, _backlog = 0, _since = 0;
};

} // namespace thalweg::simulator
