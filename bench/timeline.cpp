// A program that makes one call after the other while the network changes under it:
// thalweg-bench-timeline. Before some calls rank 0 brings about the next change of the lab's
// timeline. Written are the seconds at which the last rank completed each call, un-dilated.
#include "../examples/example.hpp"
#include "lab_control.hpp"
#include "operation.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

namespace {

struct Options {
  std::string collective = "bcast";
  int size = 65536, calls = 300;
  std::string changes; ///< numbers of the calls before which the network changes: "100,200"
  double dilation = example::lab_dilation();
  std::string json = "timeline.json";
};

constexpr const char* usage =
    "usage: thalweg-bench-timeline [--collective bcast] [--size 65536] [--calls 300] "
    "[--changes 100,200] [--dilation D] [--json FILE]\n";

Options parse(int argc, char** argv) {
  Options options;
  const std::array<example::Option, 6> known{{{"--collective", &options.collective},
                                              {"--size", &options.size},
                                              {"--calls", &options.calls, 1},
                                              {"--changes", &options.changes},
                                              {"--dilation", &options.dilation, 1},
                                              {"--json", &options.json}}};
  example::parse(argc, argv, known);
  return options;
}

std::vector<int> numbers(const std::string& text) {
  std::vector<int> result;
  std::istringstream list(text);
  for (std::string each; std::getline(list, each, ',');)
    result.push_back(std::stoi(each)); // its exceptions are logic errors
  return result;
}

/// Seconds since the first call, un-dilated.
struct Times {
  std::vector<double> completed; ///< by call, on this rank
  std::vector<double> changed;   ///< by change, on rank 0
};

/// Makes all calls. Returns whether all results were right.
bool call(const Options& options, Times& times) {
  const auto operation =
      thalweg::bench::make_operation(options.collective, thalweg::units::Size(options.size), 0);
  const std::vector<int> changes = numbers(options.changes);
  std::optional<thalweg::bench::LabControl> lab;
  if (example::rank_of_world() == 0 && !changes.empty()) lab.emplace();
  bool right = true;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = example::now();
  for (int i = 0; i < options.calls; ++i) {
    if (std::ranges::find(changes, i) != changes.end()) {
      MPI_Barrier(MPI_COMM_WORLD); // No call before the change suffers from it.
      if (lab) lab->advance();
      times.changed.push_back((example::now() - begin) / options.dilation);
    }
    const auto repetition = static_cast<std::uint64_t>(i);
    operation->fill(repetition);
    operation->run();
    times.completed.push_back((example::now() - begin) / options.dilation);
    right = operation->correct(repetition) && right;
  }
  return right;
}

void write_list(std::ostream& out, const std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    out << (i > 0 ? ", " : "") << values[i];
}

/// Whether all results were right on all ranks. Collective.
bool run(const Options& options) {
  Times own;
  const int right = call(options, own) ? 1 : 0;
  int all_right = 0;
  std::vector<double> last(own.completed.size());
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Reduce(own.completed.data(), last.data(), options.calls, MPI_DOUBLE, MPI_MAX, 0,
             MPI_COMM_WORLD);
  if (example::rank_of_world() != 0) return all_right != 0;
  std::ofstream file(options.json);
  file << R"({"completed": [)";
  write_list(file, last);
  file << R"(], "changed": [)";
  write_list(file, own.changed);
  file << "]}\n";
  file.close();
  if (!file) throw std::runtime_error("can't write " + options.json);
  if (all_right == 0) std::fprintf(stderr, "thalweg-bench-timeline: a result is wrong\n");
  return all_right != 0;
}

} // namespace

int main(int argc, char** argv) {
  return example::run_program(
      argc, argv, "thalweg-bench-timeline", usage,
      [](int count, char** words, double /*initialisation*/) { return run(parse(count, words)); });
}
