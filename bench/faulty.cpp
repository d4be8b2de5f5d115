// A program that calls a collective again and again, with a short allreduce after each, and between
// them computes for the same time on all ranks, but for a late one: thalweg-bench-faulty. Times are
// in microseconds; computing is sleeping, so that ranks on one core don't hinder each other.
#include "../examples/example.hpp"

#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace {

struct Options {
  std::string kind = "allreduce"; ///< allreduce, bcast, reduce or allgather
  int calls = 40, size = 1000;
  double between = 1000;
  std::string late = "nobody"; ///< a rank, or "rotating"
  double by = 0;
  unsigned seed = 1;
};

constexpr const char* usage = "usage: thalweg-bench-faulty [--kind allreduce] [--calls 40] "
                              "[--size 1000] [--between 1000] [--late RANK|rotating] [--by 0] "
                              "[--seed 1]\n";

Options parse(int argc, char** argv) {
  Options options;
  const std::array<example::Option, 7> known{{{"--kind", &options.kind},
                                              {"--calls", &options.calls, 1},
                                              {"--size", &options.size, 1},
                                              {"--between", &options.between},
                                              {"--late", &options.late},
                                              {"--by", &options.by},
                                              {"--seed", &options.seed}}};
  example::parse(argc, argv, known);
  return options;
}

void compute(double microseconds) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(microseconds));
}

bool run(const Options& options) {
  const int rank = example::rank_of_world(), ranks = example::size_of_world();
  const auto size = static_cast<std::size_t>(options.size);
  std::vector<char> in(size), out(size * static_cast<std::size_t>(ranks));
  std::mt19937 shared(options.seed), own(options.seed + static_cast<unsigned>(rank) * 7919U);
  std::uniform_real_distribution<double> noise(0.95, 1.05);
  for (int call = 0; call < options.calls; ++call) {
    const auto drawn = static_cast<int>(shared() % static_cast<unsigned>(ranks));
    const int late = options.late == "rotating" ? drawn
                     : options.late == "nobody" ? -1
                                                : std::stoi(options.late);
    compute(options.between * noise(own) + (rank == late ? options.by : 0));
    if (options.kind == "bcast")
      MPI_Bcast(in.data(), options.size, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (options.kind == "reduce")
      MPI_Reduce(in.data(), out.data(), options.size, MPI_BYTE, MPI_BOR, 0, MPI_COMM_WORLD);
    else if (options.kind == "allgather")
      MPI_Allgather(in.data(), options.size, MPI_BYTE, out.data(), options.size, MPI_BYTE,
                    MPI_COMM_WORLD);
    else
      MPI_Allreduce(in.data(), out.data(), options.size, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    std::int64_t mine = call, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  }
  return true;
}

} // namespace

int main(int argc, char** argv) {
  return example::run_program(
      argc, argv, "thalweg-bench-faulty", usage,
      [](int count, char** words, double /*initialisation*/) { return run(parse(count, words)); });
}
