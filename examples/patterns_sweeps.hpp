/// Kernels in which a point needs those before it: lu and bt.
#pragma once

#include "patterns.hpp"

#include <array>
#include <numeric>

namespace patterns {

/// A wavefront, as in LU's triangular solves: a point needs those before it in each direction.
/// Ranks have columns of a box; each of its planes begins when the neighbours' are there.
class Wavefront {
public:
  Wavefront(const Grid<2>& grid, int side)
      : _side(side), _grid(grid), _x(part_of(side, grid.place(0), grid.side(0))),
        _y(part_of(side, grid.place(1), grid.side(1))) {}

  /// Returns the sum of the last plane.
  [[nodiscard]] Result solve(bool check) const {
    const Plane last = sweep(_x, _y, true);
    double own = 0;
    for (int x = 0; x < _x.count(); ++x)
      for (int y = 0; y < _y.count(); ++y)
        own += last.at(x, y);
    return {sum(own), !check || is_right(last)};
  }

private:
  /// A plane of a box, with the row and the column before it.
  class Plane {
  public:
    Plane(int rows, int columns)
        : _width(columns + 1), _values(size_of((rows + 1) * (columns + 1)), 1.0) {}
    double& at(int x, int y) { return _values[size_of((x + 1) * _width + y + 1)]; }
    [[nodiscard]] double at(int x, int y) const {
      return _values[size_of((x + 1) * _width + y + 1)];
    }

  private:
    int _width;
    Values _values;
  };

  /// Computes planes one after the other; returns the last. Collective if with neighbours.
  [[nodiscard]] Plane sweep(Range rows, Range columns, bool neighbours) const {
    const int height = rows.count(), width = columns.count();
    Plane plane(height, width);
    for (int z = 0; z < _side; ++z) {
      if (neighbours) {
        receive(0, width, [&](int y) -> double& { return plane.at(-1, y); });
        receive(1, height, [&](int x) -> double& { return plane.at(x, -1); });
      }
      for (int x = 0; x < height; ++x)
        for (int y = 0; y < width; ++y)
          plane.at(x, y) = next(plane.at(x, y), plane.at(x - 1, y), plane.at(x, y - 1),
                                rows.first + x, columns.first + y, z);
      if (neighbours) {
        send(0, width, [&](int y) { return plane.at(height - 1, y); });
        send(1, height, [&](int x) { return plane.at(x, width - 1); });
      }
    }
    return plane;
  }

  /// Compares with the whole box, computed by this rank.
  [[nodiscard]] bool is_right(const Plane& last) const {
    const Plane whole = sweep({0, _side}, {0, _side}, false);
    for (int x = 0; x < _x.count(); ++x)
      for (int y = 0; y < _y.count(); ++y)
        if (last.at(x, y) != whole.at(_x.first + x, _y.first + y)) return false;
    return true;
  }

  static double next(double below, double before, double left, int x, int y, int z) {
    return 0.3 * below + 0.4 * before + 0.2 * left + 0.1 * ((7 * x + 11 * y + 13 * z) % 17);
  }

  template <class Where>
  void receive(int direction, int count, const Where& where) const {
    const int from = _grid.neighbour(direction, -1);
    if (from == MPI_PROC_NULL) return;
    Values in(size_of(count));
    MPI_Recv(in.data(), count, MPI_DOUBLE, from, direction, _grid.communicator(),
             MPI_STATUS_IGNORE);
    for (int at = 0; at < count; ++at)
      where(at) = in[size_of(at)];
  }

  template <class Where>
  void send(int direction, int count, const Where& where) const {
    const int to = _grid.neighbour(direction, 1);
    if (to == MPI_PROC_NULL) return;
    Values out;
    for (int at = 0; at < count; ++at)
      out.push_back(where(at));
    MPI_Send(out.data(), count, MPI_DOUBLE, to, direction, _grid.communicator());
  }

  int _side;
  const Grid<2>& _grid;
  Range _x, _y; ///< of this rank
};

inline Kernel lu(int size) {
  return [size, grid = std::make_shared<Grid<2>>(false)](bool check) {
    return Wavefront(*grid, size).solve(check);
  };
}

/// Sweeps along each direction of a cube, there and back, as BT and SP do: the cube is cut into q
/// slices in each direction, and each of q² ranks has q cells of it such that it has one in each
/// slice. So all ranks work at every stage of a sweep. Ranks beyond the largest square do nothing.
class Multipartition {
public:
  explicit Multipartition(int side) : _side(side) {
    while ((_slices + 1) * (_slices + 1) <= example::size_of_world())
      ++_slices;
    const int rank = example::rank_of_world();
    _place = {0, rank / _slices, rank % _slices};
    if (rank < _slices * _slices)
      for (int number = 0; number < _slices; ++number)
        _cells.push_back(cell({slice(0, number), slice(1, number), slice(2, number)}));
  }

  /// Returns the sum of all points.
  [[nodiscard]] Result solve(bool check) {
    if (!_cells.empty())
      for (const int direction : {0, 1, 2})
        for (const bool back : {false, true})
          sweep(direction, back);
    double own = 0;
    for (const Cell& each : _cells)
      own = std::accumulate(each.values.begin(), each.values.end(), own);
    return {sum(own), !check || is_right()};
  }

private:
  /// A part of the cube.
  struct Cell {
    std::array<Range, 3> ranges;
    Values values;
    [[nodiscard]] std::size_t index(const std::array<int, 3>& at) const {
      return size_of((at[0] * ranges[1].count() + at[1]) * ranges[2].count() + at[2]);
    }
  };

  static Cell cell(const std::array<Range, 3>& ranges) {
    Cell result{ranges, {}};
    for (int x = ranges[0].first; x < ranges[0].end; ++x)
      for (int y = ranges[1].first; y < ranges[1].end; ++y)
        for (int z = ranges[2].first; z < ranges[2].end; ++z)
          result.values.push_back((7 * x + 11 * y + 13 * z) % 17);
    return result;
  }
  [[nodiscard]] Range slice(int direction, int number) const {
    return part_of(_side, (number + _place[size_of(direction)]) % _slices, _slices);
  }
  /// Returns the number of this rank's cell in a slice.
  [[nodiscard]] std::size_t in_slice(int direction, int at) const {
    return size_of((at + _slices - _place[size_of(direction)]) % _slices);
  }
  static std::size_t face_of(const Cell& each, int direction) {
    std::size_t points = 1;
    for (int other = 0; other < 3; ++other)
      if (other != direction) points *= size_of(each.ranges[size_of(other)].count());
    return points;
  }

  /// Adds to each point half of the one before it; `face` is what is before the cell, then its end.
  static void sweep_cell(Cell& each, int direction, bool back, Values& face) {
    const int length = each.ranges[size_of(direction)].count();
    const int first = direction == 0 ? 1 : 0, second = direction == 2 ? 1 : 2;
    std::size_t line = 0;
    std::array<int, 3> at{};
    for (int a = 0; a < each.ranges[size_of(first)].count(); ++a)
      for (int b = 0; b < each.ranges[size_of(second)].count(); ++b, ++line)
        for (int step = 0; step < length; ++step) {
          at[size_of(first)] = a;
          at[size_of(second)] = b;
          at[size_of(direction)] = back ? length - 1 - step : step;
          face[line] = each.values[each.index(at)] += face[line] / 2;
        }
  }

  void sweep(int direction, bool back) {
    const int towards = back ? -1 : 1;
    Values face;
    for (int stage = 0; stage < _slices; ++stage) {
      Cell& each = _cells[in_slice(direction, back ? _slices - 1 - stage : stage)];
      Values before(face_of(each, direction));
      if (stage > 0)
        MPI_Sendrecv(face.data(), static_cast<int>(face.size()), MPI_DOUBLE,
                     neighbour(direction, towards), direction, before.data(),
                     static_cast<int>(before.size()), MPI_DOUBLE, neighbour(direction, -towards),
                     direction, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      sweep_cell(each, direction, back, before);
      face = before;
    }
  }

  /// Returns the rank whose cells follow this one's in a direction, or are before them.
  [[nodiscard]] int neighbour(int direction, int distance) const {
    const auto moved = [&](int d) {
      const int by = direction == 0 ? -distance : direction == d ? distance : 0;
      return (_place[size_of(d)] + by + _slices) % _slices;
    };
    return moved(1) * _slices + moved(2);
  }

  /// Compares with the whole cube, computed by this rank.
  [[nodiscard]] bool is_right() const {
    Cell whole = cell({Range{0, _side}, Range{0, _side}, Range{0, _side}});
    for (const int direction : {0, 1, 2})
      for (const bool back : {false, true}) {
        Values face(face_of(whole, direction));
        sweep_cell(whole, direction, back, face);
      }
    for (const Cell& each : _cells) {
      std::size_t point = 0;
      for (int x = each.ranges[0].first; x < each.ranges[0].end; ++x)
        for (int y = each.ranges[1].first; y < each.ranges[1].end; ++y)
          for (int z = each.ranges[2].first; z < each.ranges[2].end; ++z)
            if (each.values[point++] != whole.values[whole.index({x, y, z})]) return false;
    }
    return true;
  }

  int _side;
  int _slices = 1;
  std::array<int, 3> _place{}; ///< the slice of cell number 0 in each direction
  std::vector<Cell> _cells;
};

inline Kernel bt(int size) {
  return [size](bool check) { return Multipartition(size).solve(check); };
}

} // namespace patterns
