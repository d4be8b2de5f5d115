#pragma once

#include "check.hpp"
#include "random_draws.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <unistd.h>
#include <vector>

/// What programs do besides collectives, which planned ones must bear.
namespace thalweg::test {

/// Messages around a communicator of all ranks that are open while collectives run: received from
/// any source with any tag.
class OpenMessages {
public:
  explicit OpenMessages(Random& shared, MPI_Comm comm = MPI_COMM_WORLD)
      : _shift(static_cast<int>(pick(shared, 1000))) {
    const int rank = rank_of(comm), size = size_of(comm);
    _out = rank;
    MPI_Irecv(&_in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &_requests[0]);
    MPI_Isend(&_out, 1, MPI_INT, (rank + _shift) % size, _shift, comm, &_requests[1]);
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
  const int rank = rank_of(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
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

/// Returns which of its kind of objects a handle stands for.
inline std::int64_t handle_number(MPI_Fint handle) {
#ifdef MPICH_VERSION // The kind of object, and blocks of 256 of them, are coded in the upper bits.
  return (handle >> 12 & 0x3fff) * 256 + (handle & 0xfff);
#else
  return handle;
#endif
}

/// Returns the numbers of the handles that new MPI objects get. MPI libraries use those of freed
/// objects again, so that they grow only with the objects that are left.
inline std::array<std::int64_t, 5> new_handles() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &op);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &group);
  int value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Send_init(&value, 1, MPI_INT, 0, 0, comm, &request);
  const std::array<std::int64_t, 5> numbers = {
      handle_number(MPI_Type_c2f(type)), handle_number(MPI_Op_c2f(op)),
      handle_number(MPI_Comm_c2f(comm)), handle_number(MPI_Group_c2f(group)),
      handle_number(MPI_Request_c2f(request))};
  MPI_Request_free(&request);
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  MPI_Op_free(&op);
  MPI_Type_free(&type);
  return numbers;
}

/// Checks that the memory and the MPI objects of a process stay what they are after the first
/// fifth of a program.
class NoLeak {
public:
  explicit NoLeak(int operations) : _settled(operations / 5) {}
  void after(int operation) {
    if (operation < _settled || _bytes > 0) return;
    _bytes = resident();
    _handles = new_handles();
  }
  /// On rank 0 it says how much more they are.
  /// @param most bytes that may come on top, for what buffers happen to be the largest
  void check_end(std::int64_t most) const {
    const std::int64_t grown = resident() - _bytes;
    check(grown <= most, "the process grew by " + std::to_string(grown) + " bytes");
    const std::array<const char*, 5> names = {"datatypes", "operations", "communicators", "groups",
                                              "requests"};
    const auto now = new_handles();
    std::int64_t left = 0;
    for (std::size_t i = 0; i < now.size(); ++i)
      left = std::max(left, now[i] - _handles[i]);
    if (rank_of(MPI_COMM_WORLD) == 0)
      std::printf("grown %lld left %lld\n", static_cast<long long>(grown),
                  static_cast<long long>(left));
    for (std::size_t i = 0; i < now.size(); ++i)
      check(now[i] - _handles[i] < most_left, std::string(names[i]) + " are left: number " +
                                                  std::to_string(now[i]) + " after " +
                                                  std::to_string(_handles[i]));
  }

private:
  /// Far below a program's operations, far above the objects that it has at a time.
  static constexpr std::int64_t most_left = 2000;

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
  std::array<std::int64_t, 5> _handles{};
};

} // namespace thalweg::test
