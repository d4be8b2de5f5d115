// A short program with a few collectives, for what starting a program costs: thalweg-bench-startup.
// It writes when the last rank came out of MPI_Init and when it was done with the collectives, by
// the clock that all hosts of a lab share.
#include "../examples/example.hpp"

#include <fstream>
#include <iomanip>
#include <vector>

namespace {

constexpr int values = 8192; ///< of a rank
constexpr const char* usage = "usage: thalweg-bench-startup [--json FILE]\n";

/// By the clock that never goes back, in seconds.
struct Times {
  double begun = 0; ///< when MPI_Init had returned
  double done = 0;  ///< after the collectives
};

/// Whether all results are right on this rank. Collective.
bool call_collectives() {
  const int ranks = example::size_of_world();
  std::vector<double> data(values, example::rank_of_world() == 0 ? 1 : 0), sums(values);
  std::vector<double> gathered(static_cast<std::size_t>(ranks));
  MPI_Bcast(data.data(), values, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Allreduce(data.data(), sums.data(), values, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allgather(sums.data(), 1, MPI_DOUBLE, gathered.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  return sums.back() == ranks && gathered.back() == ranks;
}

/// Whether all results were right. Collective.
bool run(int argc, char** argv, Times own) {
  std::string json = "startup.json";
  example::parse(argc, argv, std::array<example::Option, 1>{{{"--json", &json}}});
  const int right = call_collectives() ? 1 : 0;
  own.done = example::now();
  Times last;
  int all_right = 0;
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Reduce(&own, &last, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (example::rank_of_world() != 0) return all_right != 0;
  std::ofstream file(json);
  file << std::fixed << std::setprecision(6) << R"({"begun": )" << last.begun << R"(, "done": )"
       << last.done << "}\n";
  file.close();
  if (!file) throw std::runtime_error("can't write " + json);
  if (all_right == 0) std::fprintf(stderr, "thalweg-bench-startup: a result is wrong\n");
  return all_right != 0;
}

} // namespace

int main(int argc, char** argv) {
  return example::run_program(argc, argv, "thalweg-bench-startup", usage,
                              [](int count, char** words, double /*initialisation*/) {
                                return run(count, words, {.begun = example::now()});
                              });
}
