#pragma once

#include "lab/scenario.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

namespace thalweg::lab {

/// Nanoseconds of CLOCK_MONOTONIC, or of a test's own clock.
using Instant = std::int64_t;

Instant to_instant(Time time);

/// A frame in transit. The caller owns `buffer`.
struct Frame {
  HostId from = 0, to = 0;
  std::int32_t size = 0; ///< bytes on the wire
  std::uint32_t buffer = 0;
};

enum class Fate : std::uint8_t {
  delivered,
  lost,
  dropped_by_pair,
  dropped_by_trunk,
  dropped_by_ingress
};
inline constexpr std::size_t fates = 5;

/// What became of a frame, and when.
struct Outcome {
  Frame frame;
  Instant at = 0;
  Fate fate = Fate::delivered;
};

/// The network in virtual time. A frame passes the sender's egress port, the pair's rate, each
/// trunk between the two hosts, then the latency, then the receiver's ingress port; each is a
/// first-in first-out server without burst credit. Stages cut through: alone on the network a frame
/// of s bytes takes s over the smallest rate, once, plus the latency. Ports serve frames in the
/// order in which their last byte arrives. When a port's rate changes, what waits in front of it
/// leaves at the new rate.
///
/// Cost: O(stages * log(frames in flight)) per frame, O(frames in flight) per change.
class Fabric {
public:
  /// @param scenario already dilated
  explicit Fabric(const Scenario& scenario);

  /// Sets the timeline's zero; before this call it does not run.
  void start(Instant now) { _origin = now; }
  /// Moves the timeline forward to its next change, if there is one and the timeline has begun.
  /// Returns the timeline's new zero.
  std::optional<Instant> advance(Instant now);

  /// Sends a frame from its host; its first byte leaves at `now`. The egress queue has no limit,
  /// since a host's own interface slows it down.
  void submit(const Frame& frame, Instant now);

  /// Returns the next frame that is delivered or dropped at or before `now`, in order of time.
  std::optional<Outcome> step(Instant now);

  /// Returns when step() has something to do next.
  [[nodiscard]] std::optional<Instant> next() const;
  /// Returns an instant before which no frame in transit is delivered.
  [[nodiscard]] std::optional<Instant> next_delivery() const;

  /// Returns the latency currently imposed on a pair.
  [[nodiscard]] Instant latency(HostId from, HostId to) const { return pair(from, to).latency; }
  [[nodiscard]] std::size_t in_flight() const { return _leaving.size() + _arriving.size(); }
  /// Returns the frames dropped in front of each trunk.
  [[nodiscard]] const std::vector<std::uint64_t>& trunk_drops() const { return _trunk_drops; }

private:
  struct Port {
    double ns_per_byte = 0;
    Size limit = 0;     ///< bytes waiting; 0 means no limit
    Instant free = 0;   ///< when the last frame's last byte has left
    double stretch = 1; ///< while a change is applied: how many times as long what waits takes
  };
  struct Pair {
    Instant latency = 0;
    Instant last_arrival = 0;
    double loss = 0;
    std::uint64_t frames = 0;
    Port port;
    std::vector<std::uint32_t> trunks;
  };
  struct Flight {
    Frame frame;
    Instant head = 0; ///< when the first byte reached this stage
    std::uint32_t stage = 0;
  };
  struct Event {
    Instant at; ///< when the last byte reaches the stage
    std::uint64_t order;
    std::uint32_t flight;
    bool operator>(const Event& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  /// The events in order, whose times may be changed together.
  struct Events : std::priority_queue<Event, std::vector<Event>, std::greater<>> {
    std::vector<Event>& items() { return c; }
    void reorder() { std::make_heap(c.begin(), c.end(), comp); }
  };

  Pair& pair(HostId from, HostId to) { return _pairs[index(from, to)]; }
  [[nodiscard]] const Pair& pair(HostId from, HostId to) const { return _pairs[index(from, to)]; }
  [[nodiscard]] std::size_t index(HostId from, HostId to) const {
    return static_cast<std::size_t>(from) * _egress.size() + static_cast<std::size_t>(to);
  }
  bool vanishes(Pair& pair, const Frame& frame) const;
  void schedule(Instant at, std::uint32_t flight, bool arriving);
  static std::optional<Instant> first(const Events& events);
  void find_least_latency();
  std::optional<Fate> enter_stage(Flight& flight, std::uint32_t id, Instant at);
  std::optional<Fate> pass(Port& port, Flight& flight, std::uint32_t id, Instant at, Fate if_full);
  [[nodiscard]] std::optional<Instant> next_change() const;
  /// The port in which a frame is, or null on the wire.
  Port* port_of(const Flight& flight);
  /// Applies the changes due until then. Returns whether there were any.
  bool apply_changes(Instant until);
  void apply(const Change& change, Instant at);
  void set_rate(Port& port, Rate rate, Instant at);
  /// Lets what waits in ports whose rates have changed leave at the new rates.
  void move_waiting(Instant at);

  std::vector<Port> _egress, _ingress, _trunks;
  std::vector<Pair> _pairs;
  std::vector<std::uint64_t> _trunk_drops;
  std::vector<Change> _timeline;
  std::size_t _next_change = 0;
  std::optional<Instant> _origin;
  std::uint64_t _seed;
  std::vector<Flight> _flights;
  std::vector<std::uint32_t> _idle_flights;
  Events _leaving, _arriving;  ///< before and after the latency
  std::vector<Port*> _changed; ///< while a change is applied: the ports in which something waits
  Instant _least_latency = 0;
  std::uint64_t _order = 0;
};

} // namespace thalweg::lab
