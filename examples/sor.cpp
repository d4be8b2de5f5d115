/// Successive over-relaxation in red-black order, in plain MPI. Nothing here knows of Thalweg.
///
/// As in section 3 of Bongo, Anshus and Bjørndalen, "Collective Communication Performance Analysis
/// Within the Communication System": in each iteration the red points are computed and exchanged
/// with the neighbours, then the black ones, and an allreduce tests whether the ranks are done.
/// The grid is small, so that more than half of the time may be communication.
///
/// Laplace's equation on the unit square, whose boundary has the values of x + y: so has the
/// solution everywhere. Rows are spread over the ranks. Results don't depend on their number.
#include "example.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <numbers>
#include <vector>

namespace {

struct Options {
  int size = 256;          ///< points in each direction, without the boundary
  int iterations = 10'000; ///< at most
  double tolerance = 1e-6; ///< the largest change in an iteration that ends it
  double dilation = example::lab_dilation();
  std::string json; ///< file for the results
};

constexpr const char* usage =
    "usage: sor [--size 256] [--iterations 10000] [--tolerance 1e-6] [--dilation 1] [--json FILE]\n"
    "--size        points of the square grid in each direction; at least one row for each rank\n"
    "--iterations  most iterations\n"
    "--tolerance   the largest change of a point in an iteration that ends the program\n"
    "--dilation    of an emulated network's time (default THALWEG_LAB_DILATION): times are "
    "printed\n"
    "              divided by it\n";

Options parse(int argc, char** argv) {
  Options options;
  const std::array<example::Option, 5> known{{{"--size", &options.size, 1},
                                              {"--iterations", &options.iterations, 1},
                                              {"--tolerance", &options.tolerance},
                                              {"--dilation", &options.dilation, 1},
                                              {"--json", &options.json}}};
  example::parse(argc, argv, known);
  if (options.size < example::size_of_world())
    throw std::invalid_argument("--size " + std::to_string(options.size) + " gives " +
                                std::to_string(example::size_of_world()) +
                                " ranks less than a row each");
  return options;
}

/// Seconds on this rank.
struct Times {
  double total = 0, exchange = 0, allreduce = 0;
  [[nodiscard]] double computation() const { return total - exchange - allreduce; }
};

/// This rank's rows of the grid, with a row of a neighbour or of the boundary on either side.
class Solver {
public:
  explicit Solver(const Options& options)
      : _size(options.size), _rank(example::rank_of_world()), _ranks(example::size_of_world()),
        _first(first_row(_rank)), _rows(first_row(_rank + 1) - _first),
        _points(static_cast<std::size_t>(_rows + 2) * static_cast<std::size_t>(_size + 2)),
        _relaxation(2 / (1 + std::sin(std::numbers::pi / (_size + 1)))) {
    for (int row = 0; row < _rows + 2; ++row)
      for (int column = 0; column < _size + 2; ++column)
        if (is_boundary(row, column)) at(row, column) = solution(row, column);
  }

  /// Returns the number of iterations. Collective.
  int solve(const Options& options) {
    MPI_Barrier(MPI_COMM_WORLD);
    const example::Timer timer(_times.total);
    double change = options.tolerance + 1;
    int iteration = 0;
    for (; iteration < options.iterations && change > options.tolerance; ++iteration) {
      double own = 0;
      for (const int colour : {0, 1}) {
        own = example::larger_error(own, relax(colour));
        exchange();
      }
      const example::Timer waiting(_times.allreduce);
      MPI_Allreduce(&own, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    _has_converged = change <= options.tolerance;
    return iteration;
  }

  /// Returns the largest error of any point. Collective.
  [[nodiscard]] double error() const {
    double own = 0, all = 0;
    for (int row = 1; row <= _rows; ++row)
      for (int column = 1; column <= _size; ++column)
        own = example::larger_error(own,
                                    std::abs(_points[index(row, column)] - solution(row, column)));
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
  }
  [[nodiscard]] bool has_converged() const { return _has_converged; }
  [[nodiscard]] const Times& times() const { return _times; }
  [[nodiscard]] int rank() const { return _rank; }
  [[nodiscard]] int ranks() const { return _ranks; }

private:
  /// Returns a rank's first row of the whole grid, of which row 0 is the boundary's.
  [[nodiscard]] int first_row(int rank) const {
    return 1 + static_cast<int>(static_cast<long>(_size) * rank / _ranks);
  }
  [[nodiscard]] std::size_t index(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(_size + 2) +
           static_cast<std::size_t>(column);
  }
  double& at(int row, int column) { return _points[index(row, column)]; }
  [[nodiscard]] bool is_boundary(int row, int column) const {
    const int whole = _first - 1 + row;
    return whole == 0 || whole == _size + 1 || column == 0 || column == _size + 1;
  }
  [[nodiscard]] double solution(int row, int column) const {
    return static_cast<double>(_first - 1 + row + column) / (_size + 1);
  }

  /// Computes the points of a colour; returns the largest change.
  double relax(int colour) {
    double most = 0;
    for (int row = 1; row <= _rows; ++row)
      for (int column = 1 + (_first + row + colour) % 2; column <= _size; column += 2) {
        const double mean = (at(row - 1, column) + at(row + 1, column) + at(row, column - 1) +
                             at(row, column + 1)) /
                            4;
        const double change = _relaxation * (mean - at(row, column));
        at(row, column) += change;
        most = example::larger_error(most, std::abs(change));
      }
    return most;
  }

  /// Gives the neighbours this rank's outer rows, and takes theirs.
  void exchange() {
    const example::Timer timer(_times.exchange);
    const int above = _rank > 0 ? _rank - 1 : MPI_PROC_NULL;
    const int below = _rank + 1 < _ranks ? _rank + 1 : MPI_PROC_NULL;
    const auto swap = [&](int row_out, int to, int row_in, int from) {
      MPI_Sendrecv(&at(row_out, 1), _size, MPI_DOUBLE, to, 0, &at(row_in, 1), _size, MPI_DOUBLE,
                   from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    };
    swap(1, above, _rows + 1, below);
    swap(_rows, below, 0, above);
  }

  int _size, _rank, _ranks;
  int _first, _rows; ///< of this rank
  std::vector<double> _points;
  double _relaxation;
  bool _has_converged = false;
  Times _times;
};

void print(const Times& time, int iterations, double error, const Solver& solver,
           const Options& options) {
  const auto line = [&](const char* name, double seconds) {
    example::print_part(name, seconds, time.total, options.dilation);
  };
  std::printf("SOR: %d x %d points, %d iterations, %d ranks\n", options.size, options.size,
              iterations, solver.ranks());
  line("total", time.total);
  line("computation", time.computation());
  line("exchange", time.exchange);
  line("allreduce", time.allreduce);
  std::printf("  largest error %.2g\n", error);
}

void write_json(const Times& time, int iterations, double error, const Solver& solver,
                const Options& options) {
  const double d = options.dilation;
  std::ofstream file(options.json);
  file << "{\"size\": " << options.size << ", \"iterations\": " << iterations
       << ", \"ranks\": " << solver.ranks() << ", \"dilation\": " << d
       << ", \"total\": " << time.total / d << ", \"computation\": " << time.computation() / d
       << ", \"exchange\": " << time.exchange / d << ", \"allreduce\": " << time.allreduce / d
       << ", \"error\": " << error << "}\n";
  if (!file) throw std::runtime_error("can't write " + options.json);
}

/// Whether it converged to the right solution. Collective.
bool run(const Options& options) {
  Solver solver(options);
  const int iterations = solver.solve(options);
  const double error = solver.error();
  const Times time = example::mean(solver.times(), solver.ranks());
  if (solver.rank() == 0) {
    print(time, iterations, error, solver, options);
    if (!options.json.empty()) write_json(time, iterations, error, solver, options);
  }
  // The error falls by a factor of about 1 - 2 pi / size in each iteration, and the change with it.
  return solver.has_converged() && error <= options.tolerance * (options.size + 1);
}

} // namespace

int main(int argc, char** argv) {
  return example::run_program(
      argc, argv, "sor", usage,
      [](int count, char** words, double /*initialisation*/) { return run(parse(count, words)); });
}
