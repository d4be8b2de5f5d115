// A program whose steps are calls of one or several collectives, one after the other, while the
// network changes under it: thalweg-bench-timeline. Before some steps rank 0 brings about the next
// change of the lab's timeline. Written are the seconds at which the last rank completed each step,
// un-dilated.
#include "../examples/example.hpp"
#include "lab_control.hpp"
#include "operation.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

namespace {

struct Options {
  std::string collectives = "bcast"; ///< of a step: "gather,bcast"
  std::string sizes = "65536";       ///< of each of them, in bytes
  int steps = 300;
  double compute = 0;  ///< seconds between two steps, in which each rank sleeps, un-dilated
  std::string changes; ///< numbers of the steps before which the network changes: "100,200"
  double dilation = example::lab_dilation();
  std::string json = "timeline.json";
};

constexpr const char* usage =
    "usage: thalweg-bench-timeline [--collectives bcast] [--sizes 65536] [--steps 300] "
    "[--compute 0] [--changes 100,200] [--dilation D] [--json FILE]\n";

Options parse(int argc, char** argv) {
  Options options;
  const std::array<example::Option, 7> known{{{"--collectives", &options.collectives},
                                              {"--sizes", &options.sizes},
                                              {"--steps", &options.steps, 1},
                                              {"--compute", &options.compute},
                                              {"--changes", &options.changes},
                                              {"--dilation", &options.dilation, 1},
                                              {"--json", &options.json}}};
  example::parse(argc, argv, known);
  return options;
}

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream list(text);
  for (std::string each; std::getline(list, each, ',');)
    result.push_back(each);
  return result;
}

std::vector<int> numbers(const std::string& text) {
  std::vector<int> result;
  for (const std::string& word : words(text))
    result.push_back(std::stoi(word)); // its exceptions are logic errors
  return result;
}

/// Returns the collectives of a step.
std::vector<std::unique_ptr<thalweg::bench::TimedCollective>> operations(const Options& options) {
  const std::vector<std::string> names = words(options.collectives);
  const std::vector<int> sizes = numbers(options.sizes);
  if (names.empty() || names.size() != sizes.size())
    throw std::invalid_argument("--collectives and --sizes must name as many");
  std::vector<std::unique_ptr<thalweg::bench::TimedCollective>> result;
  for (std::size_t i = 0; i < names.size(); ++i)
    result.push_back(thalweg::bench::make_operation(names[i], thalweg::units::Size(sizes[i]), 0));
  return result;
}

/// Seconds since the first step, un-dilated.
struct Times {
  std::vector<double> completed; ///< by step, on this rank
  std::vector<double> changed;   ///< by change, on rank 0
};

/// Makes all steps. Returns whether all results were right.
bool make_steps(const Options& options, Times& times) {
  const auto collectives = operations(options);
  const std::vector<int> changes = numbers(options.changes);
  const std::chrono::duration<double> computing(options.compute * options.dilation);
  std::optional<thalweg::bench::LabControl> lab;
  if (example::rank_of_world() == 0 && !changes.empty()) lab.emplace();
  bool right = true;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = example::now();
  for (int i = 0; i < options.steps; ++i) {
    if (std::ranges::find(changes, i) != changes.end()) {
      MPI_Barrier(MPI_COMM_WORLD); // No call before the change suffers from it.
      if (lab) lab->advance();
      times.changed.push_back((example::now() - begin) / options.dilation);
    }
    const auto repetition = static_cast<std::uint64_t>(i);
    for (const auto& collective : collectives) {
      collective->fill(repetition);
      collective->run();
    }
    times.completed.push_back((example::now() - begin) / options.dilation);
    for (const auto& collective : collectives)
      right = collective->correct(repetition) && right;
    if (options.compute > 0) std::this_thread::sleep_for(computing);
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
  const int right = make_steps(options, own) ? 1 : 0;
  int all_right = 0;
  std::vector<double> last(own.completed.size());
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Reduce(own.completed.data(), last.data(), options.steps, MPI_DOUBLE, MPI_MAX, 0,
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
