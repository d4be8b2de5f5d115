#pragma once

#include "runtime/setup/communicator_map.hpp"

#include <vector>

namespace thalweg::runtime {

/// The ranks in COMM_WORLD whose memory windows give access to. They are found at the first access
/// to a window, and forgotten when the program frees it. Thread-safe.
class Windows {
public:
  /// @param outside stands for processes that aren't in COMM_WORLD
  explicit Windows(int outside) : _outside(outside) {}
  /// Returns the rank in COMM_WORLD of a target; -1: the window has none such. Local. The window
  /// that a thread asked for last costs it a few nanoseconds.
  [[nodiscard]] int world_rank(MPI_Win window, int target);
  void forget(MPI_Win window) { _ranks.take(window); }

private:
  using Ranks = std::vector<int>;

  int _outside;
  CommunicatorMap<Ranks, MPI_Win> _ranks;
};

} // namespace thalweg::runtime
