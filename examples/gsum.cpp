/// Gsum: the time of a global sum, in plain MPI. Nothing here knows of Thalweg.
///
/// As in section 3 of Bongo, Anshus and Bjørndalen, "Collective Communication Performance Analysis
/// Within the Communication System": the ranks sum as many values as there are ranks, again and
/// again. Calls alternate between two communicators alike, so that one call's last messages don't
/// meet the next call's first ones in the same tree.
#include "example.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <vector>

namespace {

struct Options {
  int iterations = 25'000;
  int values = 0; ///< of a sum; 0: as many as there are ranks
  double dilation = example::lab_dilation();
  std::string json; ///< file for the results
};

constexpr const char* usage =
    "usage: gsum [--iterations 25000] [--values 0] [--dilation 1] [--json FILE]\n"
    "--values    that each rank contributes to a sum; 0: as many as there are ranks\n"
    "--dilation  of an emulated network's time (default THALWEG_LAB_DILATION): times are printed\n"
    "            divided by it\n";

Options parse(int argc, char** argv) {
  Options options;
  const std::array<example::Option, 4> known{{{"--iterations", &options.iterations, 1},
                                              {"--values", &options.values},
                                              {"--dilation", &options.dilation, 1},
                                              {"--json", &options.json}}};
  example::parse(argc, argv, known);
  return options;
}

/// What rank `rank` contributes to a value; sums of whole numbers are exact.
double contribution(int rank, int value, int iteration) {
  return static_cast<double>(rank) + value + iteration;
}
double sum(int ranks, int value, int iteration) {
  return ranks * (static_cast<double>(value) + iteration) + 0.5 * ranks * (ranks - 1.0);
}

class Benchmark {
public:
  Benchmark(const Options& options)
      : _rank(example::rank_of_world()), _ranks(example::size_of_world()),
        _own(static_cast<std::size_t>(options.values > 0 ? options.values : _ranks)),
        _sums(_own.size()) {
    for (MPI_Comm& comm : _trees)
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  }
  ~Benchmark() {
    for (MPI_Comm& comm : _trees)
      MPI_Comm_free(&comm);
  }
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;

  /// Runs all sums; whether they were right on this rank. Collective.
  bool run(int iterations) {
    bool right = true;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int iteration = 0; iteration < iterations; ++iteration) {
      for (std::size_t i = 0; i < _own.size(); ++i)
        _own[i] = contribution(_rank, static_cast<int>(i), iteration);
      double time = 0;
      {
        const example::Timer timer(time);
        MPI_Allreduce(_own.data(), _sums.data(), static_cast<int>(_own.size()), MPI_DOUBLE, MPI_SUM,
                      _trees[static_cast<std::size_t>(iteration % 2)]);
      }
      _times.push_back(time);
      for (std::size_t i = 0; i < _sums.size(); ++i)
        right = right && _sums[i] == sum(_ranks, static_cast<int>(i), iteration);
    }
    return right;
  }
  /// Returns seconds of each call on this rank.
  [[nodiscard]] const std::vector<double>& times() const { return _times; }
  [[nodiscard]] int rank() const { return _rank; }
  [[nodiscard]] int ranks() const { return _ranks; }
  [[nodiscard]] std::size_t values() const { return _own.size(); }

private:
  int _rank, _ranks;
  std::array<MPI_Comm, 2> _trees{};
  std::vector<double> _own, _sums, _times;
};

/// The time of a call over all calls and ranks, in seconds.
struct Spread {
  double mean = 0, deviation = 0, least = 0, most = 0;
};

/// Complete on rank 0 only. Collective.
Spread spread(const std::vector<double>& own, int ranks) {
  std::array<double, 2> sums{}, all_sums{};
  for (const double time : own) {
    sums[0] += time;
    sums[1] += time * time;
  }
  const double least = *std::ranges::min_element(own), most = *std::ranges::max_element(own);
  Spread result;
  MPI_Reduce(sums.data(), all_sums.data(), 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&least, &result.least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&most, &result.most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  const double count = static_cast<double>(own.size()) * ranks;
  result.mean = all_sums[0] / count;
  result.deviation = std::sqrt(std::max(0.0, all_sums[1] / count - result.mean * result.mean));
  return result;
}

void write_json(const Spread& time, const Benchmark& benchmark, const Options& options) {
  const double d = options.dilation;
  std::ofstream file(options.json);
  file << "{\"ranks\": " << benchmark.ranks() << ", \"iterations\": " << options.iterations
       << ", \"values\": " << benchmark.values() << ", \"dilation\": " << d
       << ", \"mean\": " << time.mean / d << ", \"deviation\": " << time.deviation / d
       << ", \"least\": " << time.least / d << ", \"most\": " << time.most / d << "}\n";
  if (!file) throw std::runtime_error("can't write " + options.json);
}

/// Whether all sums were right. Collective.
bool run(const Options& options) {
  Benchmark benchmark(options);
  const int right = benchmark.run(options.iterations) ? 1 : 0;
  int all_right = 0;
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  const Spread time = spread(benchmark.times(), benchmark.ranks());
  if (benchmark.rank() != 0) return all_right != 0;
  const double us = 1e6 / options.dilation;
  std::printf("Gsum: %d sums of %zu values, %d ranks, results %s\n", options.iterations,
              benchmark.values(), benchmark.ranks(), all_right != 0 ? "right" : "WRONG");
  std::printf("  mean %.2f us, standard deviation %.2f us, least %.2f us, most %.2f us\n",
              us * time.mean, us * time.deviation, us * time.least, us * time.most);
  if (!options.json.empty()) write_json(time, benchmark, options);
  return all_right != 0;
}

} // namespace

int main(int argc, char** argv) {
  return example::run_program(
      argc, argv, "gsum", usage,
      [](int count, char** words, double /*initialisation*/) { return run(parse(count, words)); });
}
