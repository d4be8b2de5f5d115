/// What the kernels of patterns.cpp share.
#pragma once

#include "example.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace patterns {

struct Result {
  double value = 0;  ///< the same on all ranks
  bool right = true; ///< on this rank, beside the serial result, if that was checked
};

/// Computes something with all ranks, as often as it is called, and compares it if `check`.
/// Collective.
using Kernel = std::function<Result(bool check)>;

using Values = std::vector<double>;

/// Consecutive items.
struct Range {
  int first = 0, end = 0;
  [[nodiscard]] int count() const { return end - first; }
};

/// Returns a part of items that are spread evenly.
inline Range part_of(int items, int part, int parts) {
  const auto first = [&](int p) { return static_cast<int>(std::int64_t{items} * p / parts); };
  return {first(part), first(part + 1)};
}

inline std::size_t size_of(int count) { return static_cast<std::size_t>(count); }

/// Adds up a number of each rank. Collective.
inline double sum(double own) {
  double all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

/// Returns the largest number of all ranks. Collective.
inline double largest(double own) {
  double all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

/// The ranks in a grid of so many directions. Construction and destruction are collective.
template <int Directions>
class Grid {
public:
  explicit Grid(bool periodic) {
    MPI_Dims_create(example::size_of_world(), Directions, _sides.data());
    std::array<int, Directions> around{};
    around.fill(periodic ? 1 : 0);
    MPI_Cart_create(MPI_COMM_WORLD, Directions, _sides.data(), around.data(), 0, &_communicator);
    int rank = 0;
    MPI_Comm_rank(_communicator, &rank);
    MPI_Cart_coords(_communicator, rank, Directions, _place.data());
  }
  ~Grid() { MPI_Comm_free(&_communicator); }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  [[nodiscard]] int side(int direction) const { return _sides[size_of(direction)]; }
  [[nodiscard]] int place(int direction) const { return _place[size_of(direction)]; }
  [[nodiscard]] MPI_Comm communicator() const { return _communicator; }

  /// Returns the rank that is so many places on; MPI_PROC_NULL beyond an end.
  [[nodiscard]] int neighbour(int direction, int distance) const {
    int from = 0, to = 0;
    MPI_Cart_shift(_communicator, direction, distance, &from, &to);
    return to;
  }

  /// Sends to the rank so many places on, and receives from the one as many places back.
  void shift(int direction, int distance, const Values& out, Values& in) const {
    MPI_Sendrecv(out.data(), static_cast<int>(out.size()), MPI_DOUBLE,
                 neighbour(direction, distance), direction, in.data(), static_cast<int>(in.size()),
                 MPI_DOUBLE, neighbour(direction, -distance), direction, _communicator,
                 MPI_STATUS_IGNORE);
  }

private:
  std::array<int, Directions> _sides{}, _place{};
  MPI_Comm _communicator = MPI_COMM_NULL;
};

} // namespace patterns
