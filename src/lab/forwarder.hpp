#pragma once

#include "lab/control.hpp"
#include "lab/counters.hpp"
#include "lab/fabric.hpp"
#include "lab/frames.hpp"
#include "lab/host.hpp"
#include "lab/rotation.hpp"

#include <vector>

namespace thalweg::lab {

/// Moves frames between the hosts' TAPs as the fabric decides, until told to stop. Polls while
/// frames are in motion and sleeps otherwise.
class Forwarder {
public:
  Forwarder(Fabric& fabric, const std::vector<HostProcess>& hosts, Control& control,
            Counters& counters, Rotation& rotation, OwnCost cost);
  /// @throws std::runtime_error naming a host that has died
  void run();

private:
  void handle(Instant patience, Instant own_cost);
  void rest_sometimes();
  [[nodiscard]] Instant owed_rest(Instant now) const;
  void account_rest(Instant begin);
  void take_frames(std::size_t host, Instant own_cost);
  bool take_frame(std::size_t host, Instant own_cost);
  bool deliver_due();
  void deliver(const Outcome& outcome);
  /// Counts a frame that left later than planned, if that is late for its latency.
  void note_lateness(const Frame& frame, Instant late);

  Fabric& _fabric;
  const std::vector<HostProcess>& _hosts;
  Control& _control;
  Counters& _counters;
  Rotation& _rotation;
  OwnCost _cost;
  FrameStore _frames;
  Descriptor _epoll;
  Instant _last_activity = 0, _awake_since = 0, _owed = 0;
  Instant _last_look = 0; ///< for frames of hosts
  Instant _unseen = 0;    ///< the longest that frames read now may have waited, besides rests
};

} // namespace thalweg::lab
