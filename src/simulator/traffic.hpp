#pragma once

#include "collective/collective.hpp"

#include <map>
#include <utility>
#include <vector>

namespace thalweg::simulator {

/// When a port or a connection is in use. Times are in seconds.
class Occupancy {
public:
  /// Returns when it is free first, from `time` on. O(log intervals).
  [[nodiscard]] double free_from(double time) const;
  /// Uses it for so many seconds in all from `begin` on, whenever it is free. Returns when that
  /// ends. O(intervals after `begin`).
  double occupy(double begin, double seconds);
  /// Counts time from `now` on and forgets what was before.
  void rebase(double now);

private:
  struct Interval {
    double begin, end;
  };
  std::vector<Interval> _intervals; ///< with time between them, ascending
};

/// The messages of calls that follow each other, in so far as they keep those of later calls from
/// ports and connections. A rank that is ahead of others sends its messages of a call while they
/// still send those of earlier ones, and these come first.
struct Traffic {
  std::vector<Occupancy> ports; ///< by Ports' PortId; empty before the first call
  std::map<std::pair<collective::Rank, collective::Rank>, Occupancy> connections;
  /// Counts time from `now` on and forgets what was before.
  void rebase(double now);
};

} // namespace thalweg::simulator
