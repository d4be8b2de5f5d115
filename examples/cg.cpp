/// Conjugate gradients on a sparse matrix, in plain MPI. Nothing here knows of Thalweg.
///
/// As in section 5.4 of Gong, He and Zhong, "Network performance aware MPI collective communication
/// operations in the cloud": rows are spread over the ranks, the all-gather of the search direction
/// is done as a gather followed by a broadcast, and iteration ends when the residual's norm is at
/// most 1e-5 of the initial gradient's. The matrix is the Laplacian of a square grid whose points
/// are numbered row by row.
#include "example.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>
#include <vector>

namespace {

using Values = std::vector<double>;

struct Options {
  int size = 12'800;       ///< unknowns: the length of the vector
  int iterations = 2000;   ///< at most
  double tolerance = 1e-5; ///< of the residual's norm, relative to the initial gradient's
  double compute_time = 0; ///< least seconds of an iteration's product with the matrix
  double dilation = example::lab_dilation();
  std::string json; ///< file for the results
};

constexpr const char* usage =
    "usage: cg [--size 12800] [--iterations 2000] [--tolerance 1e-5] [--compute-time 0] "
    "[--dilation 1]\n"
    "          [--json FILE]\n"
    "--size          unknowns: the length of the vector that is broadcast in each iteration\n"
    "--iterations    most iterations\n"
    "--tolerance     ends when the residual's norm is so much of the first one; 0: after all "
    "iterations,\n"
    "                by which it must have become less\n"
    "--compute-time  seconds that an iteration's product with the matrix takes at least: a rank "
    "that is\n"
    "                ready sooner sleeps\n"
    "--dilation      of an emulated network's time (default THALWEG_LAB_DILATION): times are "
    "printed\n"
    "                divided by it, --compute-time is multiplied by it\n";

Options parse(int argc, char** argv) {
  Options options;
  const std::array<example::Option, 6> known{{{"--size", &options.size, 1},
                                              {"--tolerance", &options.tolerance},
                                              {"--iterations", &options.iterations, 1},
                                              {"--compute-time", &options.compute_time},
                                              {"--dilation", &options.dilation, 1},
                                              {"--json", &options.json}}};
  example::parse(argc, argv, known);
  return options;
}

/// Seconds on this rank.
struct Times {
  double total = 0, gather = 0, bcast = 0, allreduce = 0;
  [[nodiscard]] double computation() const { return total - gather - bcast - allreduce; }
};

/// The grid's Laplacian: 4 on the diagonal, -1 for each of up to four neighbours. Symmetric and
/// positive definite, also if the last row of the grid isn't full.
class Laplacian {
public:
  explicit Laplacian(int size)
      : _size(size), _width(static_cast<int>(std::ceil(std::sqrt(size)))) {}
  [[nodiscard]] double row_times(int row, const Values& x) const {
    const auto at = [&](int i) {
      return i >= 0 && i < _size ? x[static_cast<std::size_t>(i)] : 0.0;
    };
    const int column = row % _width;
    const double left = column > 0 ? at(row - 1) : 0, right = column + 1 < _width ? at(row + 1) : 0;
    return 4 * at(row) - left - right - at(row - _width) - at(row + _width);
  }

private:
  int _size, _width;
};

/// How a solution was found.
struct Solution {
  int iterations = 0;
  double residual = 0; ///< its norm, relative to the first one
};

class Solver {
public:
  explicit Solver(const Options& options)
      : _size(options.size), _product_time(options.compute_time * options.dilation), _matrix(_size),
        _rank(example::rank_of_world()), _ranks(example::size_of_world()),
        _own((_size + _ranks - 1) / _ranks), _first(_rank * _own),
        _all(static_cast<std::size_t>(_own) * static_cast<std::size_t>(_ranks)) {}

  /// Solves A x = A 1. Collective.
  Solution solve(int most, double tolerance) {
    MPI_Barrier(MPI_COMM_WORLD);
    const example::Timer timer(_times.total);
    Values residual = times_matrix(Values(static_cast<std::size_t>(_own), 1));
    _x.assign(residual.size(), 0);
    Values direction = residual;
    double square = dot(residual, residual);
    const double first = square;
    const double enough = tolerance * tolerance * square;
    int iteration = 0;
    for (; iteration < most && square > enough; ++iteration) {
      const Values product = times_matrix(direction);
      const double step = square / dot(direction, product);
      for (std::size_t i = 0; i < residual.size(); ++i) {
        _x[i] += step * direction[i];
        residual[i] -= step * product[i];
      }
      const double next = dot(residual, residual);
      for (std::size_t i = 0; i < residual.size(); ++i)
        direction[i] = residual[i] + next / square * direction[i];
      square = next;
    }
    return {iteration, std::sqrt(square / first)};
  }

  /// Returns the largest error of the solution, which is 1 everywhere. Collective.
  [[nodiscard]] double error() const {
    double own = 0, all = 0;
    for (int i = 0; i < _own && _first + i < _size; ++i)
      own = example::larger_error(own, std::abs(_x[static_cast<std::size_t>(i)] - 1));
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
  }
  [[nodiscard]] const Times& times() const { return _times; }
  [[nodiscard]] int rank() const { return _rank; }
  [[nodiscard]] int ranks() const { return _ranks; }
  /// Returns the bytes of one broadcast.
  [[nodiscard]] std::size_t message() const { return _all.size() * sizeof(double); }

private:
  /// Returns this rank's rows of the matrix times a vector of which each rank has its part.
  Values times_matrix(const Values& own) {
    {
      const example::Timer timer(_times.gather);
      MPI_Gather(own.data(), _own, MPI_DOUBLE, _all.data(), _own, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    {
      const example::Timer timer(_times.bcast);
      MPI_Bcast(_all.data(), static_cast<int>(_all.size()), MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    const double begin = example::now();
    Values product(own.size());
    for (int i = 0; i < _own && _first + i < _size; ++i)
      product[static_cast<std::size_t>(i)] = _matrix.row_times(_first + i, _all);
    std::this_thread::sleep_for(
        std::chrono::duration<double>(_product_time - (example::now() - begin)));
    return product;
  }

  double dot(const Values& a, const Values& b) {
    double own = 0, all = 0;
    for (int i = 0; i < _own && _first + i < _size; ++i)
      own += a[static_cast<std::size_t>(i)] * b[static_cast<std::size_t>(i)];
    const example::Timer timer(_times.allreduce);
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
  }

  int _size;
  double _product_time; ///< least seconds of a product
  Laplacian _matrix;
  int _rank, _ranks;
  int _own, _first; ///< rows of this rank
  Values _all;      ///< the search direction of all ranks
  Values _x;
  Times _times;
};

void print(const Times& time, int iterations, double error, const Solver& solver,
           const Options& options) {
  const auto line = [&](const char* name, double seconds) {
    example::print_part(name, seconds, time.total, options.dilation);
  };
  std::printf("CG: %d unknowns, %d iterations, %d ranks\n", options.size, iterations,
              solver.ranks());
  line("total", time.total);
  line("computation", time.computation());
  line("gather", time.gather);
  line("bcast", time.bcast);
  line("allreduce", time.allreduce);
  std::printf("  largest error %.2g\n", error);
}

void write_json(const Times& time, int iterations, double error, const Solver& solver,
                const Options& options) {
  const double d = options.dilation;
  std::ofstream file(options.json);
  file << "{\"size\": " << options.size << ", \"iterations\": " << iterations
       << ", \"ranks\": " << solver.ranks() << ", \"message\": " << solver.message()
       << ", \"dilation\": " << d << ", \"compute_time\": " << options.compute_time
       << ", \"total\": " << time.total / d << ", \"computation\": " << time.computation() / d
       << ", \"gather\": " << time.gather / d << ", \"bcast\": " << time.bcast / d
       << ", \"allreduce\": " << time.allreduce / d << ", \"error\": " << error << "}\n";
  if (!file) throw std::runtime_error("can't write " + options.json);
}

/// Whether it converged to the right solution, or made all iterations as it should. Collective.
bool run(const Options& options) {
  Solver solver(options);
  const Solution solution = solver.solve(options.iterations, options.tolerance);
  const double error = solver.error();
  const Times time = example::mean(solver.times(), solver.ranks());
  if (solver.rank() == 0) {
    print(time, solution.iterations, error, solver, options);
    if (!options.json.empty()) write_json(time, solution.iterations, error, solver, options);
  }
  // The smallest eigenvalue falls with the size, so the residual bounds the error less and less.
  if (options.tolerance > 0) return solution.residual <= options.tolerance && error < 0.1;
  return solution.residual < 1 && std::isfinite(error);
}

} // namespace

int main(int argc, char** argv) {
  return example::run_program(
      argc, argv, "cg", usage,
      [](int count, char** words, double /*initialisation*/) { return run(parse(count, words)); });
}
