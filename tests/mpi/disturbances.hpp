#pragma once

#include "check.hpp"
#include "random_draws.hpp"

#include <cstdio>
#include <string>
#include <unistd.h>
#include <vector>

/// What programs do besides collectives, which planned ones must bear.
namespace thalweg::test {

/// Messages around MPI_COMM_WORLD that are open while collectives run: received from any source
/// with any tag.
class OpenMessages {
public:
  explicit OpenMessages(Random& shared) : _shift(static_cast<int>(pick(shared, 1000))) {
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    _out = rank;
    MPI_Irecv(&_in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &_requests[0]);
    MPI_Isend(&_out, 1, MPI_INT, (rank + _shift) % size, _shift, MPI_COMM_WORLD, &_requests[1]);
  }
  OpenMessages(const OpenMessages&) = delete;
  OpenMessages& operator=(const OpenMessages&) = delete;
  ~OpenMessages() {
    MPI_Status status[2];
    MPI_Waitall(2, _requests, status);
    // It may be a later message than the one sent at the same time, of another rank.
    check(_in == status[0].MPI_SOURCE, "a message with wildcards between collectives");
  }

private:
  int _shift, _out = 0, _in = -1;
  MPI_Request _requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

/// Lets one rank come late, by up to 3 ms.
inline void delay_one(Random& shared) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto late = pick(shared, size);
  const auto microseconds = pick(shared, 3000);
  if (rank == late) usleep(static_cast<useconds_t>(microseconds));
}

/// Many small calls in a row that a rank may leave before others enter, while one rank is late:
/// the others run ahead of it as far as they can.
inline void run_ahead(Random& shared, MPI_Comm comm) {
  const std::int64_t calls = 1 + pick(shared, 300);
  const auto root_seed = shared();
  const bool gathers = pick(shared, 2) == 0;
  delay_one(shared);
  if (comm == MPI_COMM_NULL) return;
  const Peers peers(comm);
  const int root = static_cast<int>(root_seed % static_cast<std::uint64_t>(peers.size));
  std::vector<int> all(static_cast<std::size_t>(peers.size));
  bool good = true;
  for (int i = 0; i < static_cast<int>(calls); ++i) {
    if (gathers) {
      const int mine = i + peers.rank;
      MPI_Gather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, root, comm);
      for (int other = 0; peers.rank == root && other < peers.size; ++other)
        good &= all[static_cast<std::size_t>(other)] == i + other;
    } else {
      int value = peers.rank == root ? i : -1;
      MPI_Bcast(&value, 1, MPI_INT, root, comm);
      good &= value == i;
    }
  }
  check(good, std::string(gathers ? "gathers" : "broadcasts") + " in a row");
}

/// Checks that the memory of a process stays what it is after the first fifth of a program.
class FlatMemory {
public:
  explicit FlatMemory(int operations) : _settled(operations / 5) {}
  void after(int operation) {
    if (operation == _settled) _bytes = resident();
  }
  /// @param most bytes that may come on top, for what buffers happen to be the largest
  void check_end(std::int64_t most) const {
    const std::int64_t grown = resident() - _bytes;
    check(grown <= most, "the process grew by " + std::to_string(grown) + " bytes");
  }

private:
  static std::int64_t resident() {
    long pages = 0, in_memory = 0;
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr) return 0;
    if (std::fscanf(file, "%ld %ld", &pages, &in_memory) != 2) in_memory = 0;
    std::fclose(file);
    return std::int64_t{in_memory} * sysconf(_SC_PAGESIZE);
  }
  int _settled;
  std::int64_t _bytes = 0;
};

} // namespace thalweg::test
