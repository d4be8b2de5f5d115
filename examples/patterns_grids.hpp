/// Kernels whose ranks are in a grid, with messages between few of them: cg, mg and lu.
#pragma once

#include "patterns.hpp"

#include <algorithm>
#include <cmath>

namespace patterns {

/// Conjugate gradients on a symmetric sparse matrix. Ranks are in rows and columns; a rank has a
/// block of the matrix and a piece of each vector. For a product, ranks of a column gather their
/// pieces, and those of a row add theirs up and scatter them.
class ConjugateGradients {
public:
  explicit ConjugateGradients(int unknowns) : _unknowns(unknowns), _grid(true) {}

  /// Solves for a known solution; returns the solution's sum.
  Result solve() {
    const Range own = piece(_grid.place(0), _grid.place(1));
    Values x(size_of(own.count())), r(x.size());
    for (int row = own.first; row < own.end; ++row)
      for (int column = 0; column < _unknowns; ++column)
        r[size_of(row - own.first)] += element(row, column) * solution(column);
    Values p = r;
    double norm = dot(r, r);
    const double first = norm;
    for (int iteration = 0; iteration < 1000 && norm > 1e-24 * first; ++iteration) {
      const Values q = product(p);
      const double step = norm / dot(p, q);
      for (std::size_t at = 0; at < x.size(); ++at) {
        x[at] += step * p[at];
        r[at] -= step * q[at];
      }
      const double last = norm;
      norm = dot(r, r);
      for (std::size_t at = 0; at < x.size(); ++at)
        p[at] = r[at] + norm / last * p[at];
    }
    double total = 0, error = 0;
    for (int row = own.first; row < own.end; ++row) {
      const double value = x[size_of(row - own.first)];
      total += value;
      error = std::max(error, std::abs(value - solution(row)));
    }
    return {sum(total), error < 1e-9};
  }

private:
  static double solution(int row) { return 1 + row % 11; }
  [[nodiscard]] double element(int row, int column) const {
    const int distance = std::abs(row - column);
    if (distance == 0) return 8;
    return distance == 1 || distance == 7 || distance == _unknowns / 3 ? -1 : 0;
  }
  [[nodiscard]] Range piece(int row, int column) const {
    return part_of(_unknowns, row * _grid.side(1) + column, _grid.side(0) * _grid.side(1));
  }
  static double dot(const Values& a, const Values& b) {
    double own = 0;
    for (std::size_t at = 0; at < a.size(); ++at)
      own += a[at] * b[at];
    return sum(own);
  }

  /// Adds to `rows` of the product what the columns of a piece contribute.
  void multiply(Range rows, Range columns, const Values& values, Values& result) const {
    for (int row = rows.first; row < rows.end; ++row)
      for (int column = columns.first; column < columns.end; ++column)
        result[size_of(row - rows.first)] +=
            element(row, column) * values[size_of(column - columns.first)];
  }

  [[nodiscard]] Values product(const Values& own) const {
    const int rows = _grid.side(0), columns = _grid.side(1);
    const int row = _grid.place(0), column = _grid.place(1);
    std::vector<Values> parts;
    for (int other = 0; other < columns; ++other)
      parts.emplace_back(size_of(piece(row, other).count()));
    for (int distance = 0; distance < rows; ++distance) {
      const Range there = piece((row + rows - distance) % rows, column);
      Values values(size_of(there.count()));
      _grid.shift(0, distance, own, values);
      for (int other = 0; other < columns; ++other)
        multiply(piece(row, other), there, values, parts[size_of(other)]);
    }
    Values result(own.size()), part(own.size());
    for (int distance = 0; distance < columns; ++distance) {
      _grid.shift(1, distance, parts[size_of((column + distance) % columns)], part);
      for (std::size_t at = 0; at < result.size(); ++at)
        result[at] += part[at];
    }
    return result;
  }

  int _unknowns;
  Grid<2> _grid;
};

inline Result cg(int size, bool /*check*/) { return ConjugateGradients(size).solve(); }

/// Multigrid for u - 0.1 Δu = f in a periodic box. Each rank has a cube, on every level.
class Multigrid {
public:
  explicit Multigrid(int side) : _grid(true) {
    if ((side & (side - 1)) != 0)
      throw std::invalid_argument("mg needs a --size that is a power of two");
    for (int cells = side, width = 1; cells >= 1; cells /= 2, width *= 2)
      _levels.push_back({cells, 1.0 / (width * width), cube(cells), cube(cells), cube(cells)});
  }

  /// Solves for a known solution; returns the mean of its squares.
  Result solve() {
    Level& finest = _levels.front();
    each(finest, [&](int x, int y, int z, std::size_t at) {
      const auto u = [&](int i, int j, int k) { return solution(x + i, y + j, z + k); };
      const double around =
          u(1, 0, 0) + u(-1, 0, 0) + u(0, 1, 0) + u(0, -1, 0) + u(0, 0, 1) + u(0, 0, -1);
      finest.f[at] = (shift + 6) * u(0, 0, 0) - around;
    });
    double rest = 1;
    for (int cycles = 0; cycles < 100 && rest > 1e-8; ++cycles) {
      cycle(0);
      rest = residual(finest);
    }
    double squares = 0, error = 0, cells = 0;
    each(finest, [&](int x, int y, int z, std::size_t at) {
      squares += finest.u[at] * finest.u[at];
      cells += 1;
      error = std::max(error, std::abs(finest.u[at] - solution(x, y, z)));
    });
    squares = sum(squares);
    return {squares / sum(cells), error < 1e-6};
  }

private:
  static constexpr double shift = 0.1;
  struct Level {
    int cells;    ///< of this rank in each direction, without those of its neighbours
    double scale; ///< of the Laplacian: one over the square of the cells' width
    Values u, f, r;
  };
  static Values cube(int cells) { return Values(size_of((cells + 2) * (cells + 2) * (cells + 2))); }
  static std::size_t index(const Level& level, int x, int y, int z) {
    return size_of(((x + 1) * (level.cells + 2) + y + 1) * (level.cells + 2) + z + 1);
  }
  template <class Body>
  static void each(const Level& level, const Body& body) {
    for (int x = 0; x < level.cells; ++x)
      for (int y = 0; y < level.cells; ++y)
        for (int z = 0; z < level.cells; ++z)
          body(x, y, z, index(level, x, y, z));
  }

  /// The solution at a cell of this rank, or of a neighbour.
  [[nodiscard]] double solution(int x, int y, int z) const {
    double phase = 1;
    std::array<int, 3> own{x, y, z};
    for (int d = 0; d < 3; ++d) {
      const int whole = _grid.side(d) * _levels.front().cells;
      const int at = (_grid.place(d) * _levels.front().cells + own[size_of(d)] + whole) % whole;
      phase += (0.7 + 0.6 * d) * at;
    }
    return std::sin(phase);
  }

  /// Gets the neighbours' outer cells.
  void exchange(Level& level) const {
    const int n = level.cells;
    Values out(size_of(n * n)), in(out.size());
    for (int d = 0; d < 3; ++d)
      for (const int side : {1, -1}) {
        const auto face = [&](int depth, int a, int b) {
          return d == 0   ? index(level, depth, a, b)
                 : d == 1 ? index(level, a, depth, b)
                          : index(level, a, b, depth);
        };
        for (int at = 0; at < n * n; ++at)
          out[size_of(at)] = level.u[face(side > 0 ? n - 1 : 0, at / n, at % n)];
        _grid.shift(d, side, out, in);
        for (int at = 0; at < n * n; ++at)
          level.u[face(side > 0 ? -1 : n, at / n, at % n)] = in[size_of(at)];
      }
  }

  /// Computes what is left of the right side; returns the most of any cell. Collective.
  double residual(Level& level) const { return largest(rest(level)); }

  double rest(Level& level) const {
    exchange(level);
    const std::size_t y = size_of(level.cells + 2), x = y * y;
    double most = 0;
    each(level, [&](int, int, int, std::size_t at) {
      const Values& u = level.u;
      const double around = u[at - 1] + u[at + 1] + u[at - y] + u[at + y] + u[at - x] + u[at + x];
      level.r[at] = level.f[at] - shift * u[at] - level.scale * (6 * u[at] - around);
      most = std::max(most, std::abs(level.r[at]));
    });
    return most;
  }

  void smooth(Level& level, int sweeps) const {
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      rest(level);
      each(level, [&](int, int, int, std::size_t at) {
        level.u[at] += 0.8 * level.r[at] / (shift + 6 * level.scale);
      });
    }
  }

  void cycle(std::size_t number) {
    Level& level = _levels[number];
    if (number + 1 == _levels.size()) return smooth(level, 4);
    smooth(level, 2);
    rest(level);
    Level& coarse = _levels[number + 1];
    std::ranges::fill(coarse.u, 0);
    std::ranges::fill(coarse.f, 0);
    each(level, [&](int x, int y, int z, std::size_t at) {
      coarse.f[index(coarse, x / 2, y / 2, z / 2)] += level.r[at] / 8;
    });
    cycle(number + 1);
    each(level, [&](int x, int y, int z, std::size_t at) {
      level.u[at] += coarse.u[index(coarse, x / 2, y / 2, z / 2)];
    });
    smooth(level, 2);
  }

  Grid<3> _grid;
  std::vector<Level> _levels;
};

inline Result mg(int size, bool /*check*/) { return Multigrid(size).solve(); }

/// A wavefront, as in LU's triangular solves: a point needs those before it in each direction.
/// Ranks have columns of a box; each of its planes begins when the neighbours' are there.
class Wavefront {
public:
  explicit Wavefront(int side)
      : _side(side), _grid(false), _x(part_of(side, _grid.place(0), _grid.side(0))),
        _y(part_of(side, _grid.place(1), _grid.side(1))) {}

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
  Grid<2> _grid;
  Range _x, _y; ///< of this rank
};

inline Result lu(int size, bool check) { return Wavefront(size).solve(check); }

} // namespace patterns
