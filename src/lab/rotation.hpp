#pragma once

#include "lab/fabric.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace thalweg::lab {

/// Lets ranks that share a core take turns every tenth of a millisecond while frames move. MPI
/// libraries poll while they wait, some without ever yielding (MPICH 4). Where the kernel switches
/// tasks only at its clock tick, 4 ms apart, a message would wait for all the other ranks' ticks.
class Rotation {
public:
  /// @param cores the ranks' cores; a real-time thread on each interrupts the running task
  explicit Rotation(const std::vector<int>& cores);
  ~Rotation();
  Rotation(const Rotation&) = delete;
  Rotation& operator=(const Rotation&) = delete;

  /// Records that a frame has moved.
  void touch(Instant now) { _last.store(now, std::memory_order_relaxed); }

private:
  void interrupt(int core);
  std::atomic<Instant> _last = 0;
  std::atomic<bool> _stopped = false;
  std::vector<std::thread> _threads;
};

} // namespace thalweg::lab
