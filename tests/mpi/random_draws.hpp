#pragma once

#include "check.hpp"

#include <algorithm>
#include <cstdint>
#include <mpi.h>
#include <random>
#include <vector>

/// The sources of random tests. Draws that must be the same on all ranks come from a generator that
/// all share, whether or not a rank takes part in the drawn operation.
namespace thalweg::test {

using Random = std::mt19937_64;

inline std::int64_t pick(Random& random, std::int64_t below) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
}

/// Communicators that each contain some of the ranks, made and freed during the sequence.
class Pool {
public:
  /// `first` stays the caller's.
  explicit Pool(Random& shared, MPI_Comm first = MPI_COMM_WORLD) : _shared(shared), _comms{first} {}
  ~Pool() {
    for (std::size_t i = 1; i < _comms.size(); ++i)
      if (_comms[i] != MPI_COMM_NULL) MPI_Comm_free(&_comms[i]);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Returns one of them, the same on all ranks; MPI_COMM_NULL if the rank isn't in it.
  MPI_Comm choose() { return _comms[index(_comms.size())]; }

  void change() {
    if (_comms.size() > 6) {
      const std::size_t at = 1 + index(_comms.size() - 1);
      if (_comms[at] != MPI_COMM_NULL) MPI_Comm_free(&_comms[at]);
      _comms.erase(_comms.begin() + static_cast<std::ptrdiff_t>(at));
    }
    const MPI_Comm parent = choose();
    const auto how = pick(_shared, 5);
    const auto seed = _shared();
    MPI_Comm made = MPI_COMM_NULL;
    if (parent != MPI_COMM_NULL) made = make(parent, how, seed);
    _comms.push_back(made);
  }

private:
  std::size_t index(std::size_t below) {
    return static_cast<std::size_t>(pick(_shared, static_cast<std::int64_t>(below)));
  }
  static MPI_Comm make(MPI_Comm parent, std::int64_t how, std::uint64_t seed) {
    const int rank = rank_of(parent), size = size_of(parent);
    Random random(seed + static_cast<std::uint64_t>(rank) * 977);
    MPI_Comm made = MPI_COMM_NULL;
    if (how == 0) {
      MPI_Comm_dup(parent, &made);
    } else if (how == 1) {
      // Set up in its first allreduce, since no rank waits for an idup.
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Comm_idup(parent, &made, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (how == 2) {
      MPI_Group group = MPI_GROUP_NULL, odd = MPI_GROUP_NULL;
      MPI_Comm_group(parent, &group);
      int range[1][3] = {{size - 1, 0, -2}};
      MPI_Group_range_incl(group, 1, range, &odd);
      MPI_Comm_create(parent, odd, &made);
      MPI_Group_free(&odd);
      MPI_Group_free(&group);
    } else {
      const int color = static_cast<int>(pick(random, 3));
      MPI_Comm_split(parent, color == 2 ? MPI_UNDEFINED : color,
                     static_cast<int>(pick(random, 1000)), &made);
    }
    return made;
  }

  Random& _shared;
  std::vector<MPI_Comm> _comms;
};

inline std::int64_t random_units(Random& shared, std::int64_t unit_bytes, std::int64_t largest) {
  switch (pick(shared, 5)) {
  case 0:
    return pick(shared, 2);
  case 1:
    return 1 + pick(shared, 20);
  case 2:
    return 12 * pick(shared, 200);
  case 3:
    return 2 * pick(shared, 3000) + 1;
  default:
    return pick(shared, std::max<std::int64_t>(1, largest / unit_bytes));
  }
}

/// A communicator as one of its ranks sees it.
struct Peers {
  MPI_Comm comm;
  int rank, size;
  explicit Peers(MPI_Comm of) : comm(of), rank(rank_of(of)), size(size_of(of)) {}
};

} // namespace thalweg::test
