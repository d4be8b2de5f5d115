// Kernels of the examples with their ranks in several orders, which take turns in one launch:
// thalweg-bench-orders. A placement of ranks on hosts is an order of the launcher's ranks, so no
// launch is needed for each. Each line of the output has one run: the un-dilated seconds of the
// slowest rank, and the lab's counters before and after.
#include "lab_control.hpp"

#include <mpi.h>

namespace thalweg::bench {
namespace {
const MPI_Comm launched = MPI_COMM_WORLD;
/// The same ranks in the order that is measured.
MPI_Comm ordered = MPI_COMM_WORLD;
} // namespace
} // namespace thalweg::bench

// The kernels are programs of their own, and mean all ranks by this name.
#undef MPI_COMM_WORLD
#define MPI_COMM_WORLD ::thalweg::bench::ordered

#include "../examples/patterns_kernels.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace thalweg::bench {
namespace {

struct Options {
  std::string kernel = "lu";
  int size = 64;
  int repeat = 1; ///< of the kernel, in each run
  int rounds = 10;
  double limit = 100; ///< seconds after which no round begins
  std::string orders; ///< a file: in each line, the new number of each rank
  double dilation = example::lab_dilation();
  std::string output = "orders.jsonl";
};

constexpr const char* usage =
    "usage: thalweg-bench-orders --orders FILE [--kernel lu] [--size 64] [--repeat 1]\n"
    "         [--rounds 10] [--limit 100] [--dilation D] [--output FILE]\n"
    "No round begins after so many seconds.\n";

Options parse(int argc, char** argv) {
  Options options;
  const std::array<example::Option, 8> known{{{"--kernel", &options.kernel},
                                              {"--size", &options.size, 1},
                                              {"--repeat", &options.repeat, 1},
                                              {"--rounds", &options.rounds, 1},
                                              {"--limit", &options.limit},
                                              {"--orders", &options.orders},
                                              {"--dilation", &options.dilation, 1},
                                              {"--output", &options.output}}};
  example::parse(argc, argv, known);
  return options;
}

const patterns::Named& find(const std::string& name) {
  for (const patterns::Named& each : patterns::kernels)
    if (name == each.name) return each;
  throw std::invalid_argument("unknown kernel " + name);
}

/// Returns a communicator for each line of the file. Collective.
std::vector<MPI_Comm> communicators(const std::string& path) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(launched, &rank);
  MPI_Comm_size(launched, &ranks);
  std::vector<MPI_Comm> result;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::vector<int> numbers;
    for (int number = 0; words >> number;)
      numbers.push_back(number);
    if (static_cast<int>(numbers.size()) != ranks)
      throw std::invalid_argument(path + ": a line must have a number for each of the " +
                                  std::to_string(ranks) + " ranks");
    MPI_Comm_split(launched, 0, numbers[static_cast<std::size_t>(rank)], &result.emplace_back());
  }
  if (result.empty()) throw std::invalid_argument("--orders " + path + ": it has no line");
  return result;
}

/// Runs the kernel once for each order and round, and before that once to be checked.
class Turns {
public:
  explicit Turns(const Options& options)
      : _options(options), _orders(communicators(options.orders)) {
    const patterns::Named& kernel = find(options.kernel);
    for (const MPI_Comm order : _orders) {
      ordered = order;
      _kernels.push_back(kernel.make(options.size));
    }
    MPI_Comm_rank(launched, &_rank);
    if (_rank != 0) return;
    _lab = std::make_unique<LabControl>();
    _file.open(options.output);
    if (!_file) throw std::runtime_error("can't write " + options.output);
  }
  /// Returns whether all results were right. Collective.
  bool run() {
    bool right = true;
    for (std::size_t order = 0; order < _orders.size(); ++order) {
      ordered = _orders[order];
      right = check(order) && right;
    }
    const double begin = example::now();
    for (int round = 0; round < _options.rounds && is_within(begin); ++round)
      for (std::size_t order = 0; order < _orders.size(); ++order) {
        ordered = _orders[order];
        measure(order, round);
      }
    ordered = launched;
    return right;
  }

private:
  bool check(std::size_t order) const {
    const int own = _kernels[order](true).right ? 1 : 0;
    int all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, launched);
    return all != 0;
  }
  /// Whether another round may begin. Collective.
  bool is_within(double begin) const {
    int within = example::now() - begin < _options.limit ? 1 : 0;
    MPI_Bcast(&within, 1, MPI_INT, 0, launched);
    return within != 0;
  }
  void measure(std::size_t order, int round) {
    MPI_Barrier(launched);
    const std::string before = _rank == 0 ? _lab->counters() : "";
    MPI_Barrier(launched);
    const double begin = example::now();
    for (int time = 0; time < _options.repeat; ++time)
      _kernels[order](false);
    const double own = example::now() - begin;
    double longest = 0;
    MPI_Reduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, launched);
    if (_rank != 0) return;
    _file << R"({"order": )" << order << R"(, "round": )" << round << R"(, "time": )"
          << longest / _options.repeat / _options.dilation << R"(, "begin": )" << before
          << R"(, "end": )" << _lab->counters() << "}" << std::endl;
  }

  const Options& _options;
  std::vector<MPI_Comm> _orders;
  std::vector<patterns::Kernel> _kernels; ///< by order
  int _rank = 0;
  std::unique_ptr<LabControl> _lab;
  std::ofstream _file;
};

} // namespace
} // namespace thalweg::bench

int main(int argc, char** argv) {
  return example::run_program(argc, argv, "thalweg-bench-orders", thalweg::bench::usage,
                              [](int count, char** words, double /*initialisation*/) {
                                const thalweg::bench::Options options =
                                    thalweg::bench::parse(count, words);
                                const bool right = thalweg::bench::Turns(options).run();
                                if (!right && example::rank_of_world() == 0)
                                  std::fprintf(stderr, "thalweg-bench-orders: a result is WRONG\n");
                                return right;
                              });
}
