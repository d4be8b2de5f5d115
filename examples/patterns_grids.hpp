/// Kernels whose ranks are in a grid, with messages between few of them: cg and mg.
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
  ConjugateGradients(const Grid<2>& grid, int unknowns) : _unknowns(unknowns), _grid(grid) {}

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
      error = example::larger_error(error, std::abs(value - solution(row)));
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
  const Grid<2>& _grid;
};

inline Kernel cg(int size) {
  return [size, grid = std::make_shared<Grid<2>>(true)](bool /*check*/) {
    return ConjugateGradients(*grid, size).solve();
  };
}

/// Multigrid for u - 0.1 Δu = f in a periodic box. Each rank has a cube, on every level.
class Multigrid {
public:
  Multigrid(const Grid<3>& grid, int side) : _grid(grid) {
    if (side < 2 || (side & (side - 1)) != 0)
      throw std::invalid_argument("mg needs a --size that is a power of two from 2 on");
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
    for (int cycles = 0; cycles < 100 && rest > most_rest; ++cycles) {
      cycle(0);
      rest = residual(finest);
    }
    double squares = 0, error = 0, cells = 0;
    each(finest, [&](int x, int y, int z, std::size_t at) {
      squares += finest.u[at] * finest.u[at];
      cells += 1;
      error = example::larger_error(error, std::abs(finest.u[at] - solution(x, y, z)));
    });
    squares = sum(squares);
    return {squares / sum(cells), error < most_rest / shift};
  }

private:
  static constexpr double shift = 0.1;
  /// What may be left of the right side, after five cycles or so; the error is 1/shift times that
  /// at most.
  static constexpr double most_rest = 1e-3;
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

  const Grid<3>& _grid;
  std::vector<Level> _levels;
};

inline Kernel mg(int size) {
  return [size, grid = std::make_shared<Grid<3>>(true)](bool /*check*/) {
    return Multigrid(*grid, size).solve();
  };
}

} // namespace patterns
