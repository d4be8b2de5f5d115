#pragma once

#include "runtime/setup/communicator_map.hpp"

#include <vector>

namespace thalweg::runtime {

/// The ranks in COMM_WORLD of those to whom a communicator's messages go: of its remote group, if
/// it is an intercommunicator; and which of them are this rank's neighbours. They are found when
/// somebody first asks about a communicator, and forgotten when MPI frees it. One whose ranks are
/// threads has none. Thread-safe.
class Destinations {
public:
  /// @param outside stands for processes that aren't in COMM_WORLD
  explicit Destinations(int outside);
  /// Returns the rank in COMM_WORLD of a communicator's destination; -1: it has none such. Local.
  /// The communicator that a thread asked for last costs it a few nanoseconds.
  [[nodiscard]] int world_rank(MPI_Comm comm, int destination) {
    return ranks(comm).world_rank(destination);
  }
  /// Returns the ranks in COMM_WORLD of all destinations. As world_rank(); the first time that a
  /// communicator is asked about it costs what world_ranks_of() does.
  [[nodiscard]] const std::vector<int>& world_ranks(MPI_Comm comm) { return ranks(comm).all; }
  /// Returns the ranks in COMM_WORLD of the neighbours to which this rank sends in collectives of
  /// neighbourhoods, in MPI's order; -1: it isn't there. As world_rank().
  [[nodiscard]] const std::vector<int>& neighbors(MPI_Comm comm) { return ranks(comm).neighbors; }
  void free_keyval();

private:
  struct Ranks {
    std::vector<int> all, neighbors;
    [[nodiscard]] int world_rank(int destination) const {
      const bool is_there = destination >= 0 && static_cast<std::size_t>(destination) < all.size();
      return is_there ? all[static_cast<std::size_t>(destination)] : -1;
    }
  };
  const Ranks& ranks(MPI_Comm comm) {
    const Ranks* const found = _ranks.find(comm);
    return found != nullptr ? *found : add(comm);
  }
  const Ranks& add(MPI_Comm comm);
  static int on_delete(MPI_Comm comm, int keyval, void* value, void* extra);

  int _outside;
  int _keyval = MPI_KEYVAL_INVALID;
  CommunicatorMap<Ranks> _ranks;
};

} // namespace thalweg::runtime
