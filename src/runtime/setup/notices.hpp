#pragma once

#include "runtime/choose/chooser.hpp"
#include "runtime/mpi/native.hpp"

#include <mutex>
#include <set>
#include <string>

namespace thalweg::runtime {

/// Lets world rank 0 say once what can't be executed: at once on its own communicators, else when
/// the program ends. Thread-safe.
class Notices {
public:
  /// @param world_rank of this process
  /// @param leads whether it is the first rank of the communicator in question
  void add(const Refusal& refusal, int world_rank, bool leads);
  /// Lets world rank 0, which is rank 0 of `comm`, say what the others have noted. Collective. One
  /// native reduction if there is nothing, else a message from each rank that has something.
  void collect(MPI_Comm comm, int tag);

private:
  void say_new(const std::string& notes);

  std::mutex _mutex;
  std::set<std::string> _known; ///< keys
  std::string _noted;           ///< a key and a text per refusal, each on a line
};

} // namespace thalweg::runtime
