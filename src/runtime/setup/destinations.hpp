#pragma once

#include "runtime/setup/communicator_map.hpp"

#include <vector>

namespace thalweg::runtime {

/// The ranks in COMM_WORLD of those to whom a communicator's messages go: of its remote group, if
/// it is an intercommunicator. They are found at the first message on a communicator, and forgotten
/// when MPI frees it. Thread-safe.
class Destinations {
public:
  /// @param outside stands for processes that aren't in COMM_WORLD
  explicit Destinations(int outside);
  /// Returns the rank in COMM_WORLD of a communicator's destination; -1: it has none such. Local.
  /// The communicator that a thread asked for last costs it a few nanoseconds.
  [[nodiscard]] int world_rank(MPI_Comm comm, int destination);
  void free_keyval();

private:
  using Ranks = std::vector<int>;
  const Ranks& add(MPI_Comm comm);
  static int on_delete(MPI_Comm comm, int keyval, void* value, void* extra);

  int _outside;
  int _keyval = MPI_KEYVAL_INVALID;
  CommunicatorMap<Ranks> _ranks;
};

} // namespace thalweg::runtime
