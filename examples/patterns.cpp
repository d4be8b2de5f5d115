/// Kernels that communicate as the NAS Parallel Benchmarks do, in plain MPI, each compared with a
/// serial result. Nothing here knows of Thalweg.
///
/// They are small programs of their own with the patterns of communication that Bailey et al., "The
/// NAS Parallel Benchmarks", section 3 has, not the benchmarks: sizes, matrices and stencils
/// differ, and any number of ranks will do.
#include "patterns_kernels.hpp"

#include <array>

namespace {

using patterns::Kernel;
using patterns::kernels;
using patterns::Named;
using patterns::Result;

constexpr const char* usage =
    "usage: patterns cg|mg|lu|bt|ft|ep|is|all [--size N] [--repeat 1]\n"
    "cg  conjugate gradients: exchanges along the rows and the columns of a grid of ranks\n"
    "mg  multigrid: exchanges with six neighbours, of ever smaller faces\n"
    "lu  a wavefront: from the neighbours above and to the left to those below and to the right\n"
    "bt  sweeps through a cube cut such that all ranks work at every stage, as in SP, too\n"
    "ft  a Fourier transform: transposition by MPI_Alltoall\n"
    "ep  random numbers: nothing but sums at the end\n"
    "is  sorting: MPI_Allreduce of sizes, then MPI_Alltoallv of keys\n"
    "--size    of the problem (default: a small one): unknowns of cg, cells of a rank in each\n"
    "          direction of mg (a power of two), points in each direction of lu, bt and ft (of ft\n"
    "          a power of two), pairs of numbers of ep, keys of a rank of is\n"
    "--repeat  how often to do it after the first time, which is checked and not timed\n";

struct Options {
  std::string kernel;
  int size = 0; ///< 0: the kernel's own
  int repeat = 1;
};

Options parse(int argc, char** argv) {
  if (argc < 2) throw std::invalid_argument("name a kernel");
  Options options{.kernel = argv[1]};
  bool known = options.kernel == "all";
  for (const Named& each : kernels)
    known = known || options.kernel == each.name;
  if (!known) throw std::invalid_argument("unknown kernel " + options.kernel);
  const std::array<example::Option, 2> options_known{
      {{"--size", &options.size, 1}, {"--repeat", &options.repeat}}};
  example::parse(argc - 1, argv + 1, options_known);
  if (options.kernel == "all" && options.size != 0)
    throw std::invalid_argument("--size is for one kernel, not for all");
  for (const Named& each : kernels)
    if (options.kernel == each.name && options.size > each.largest)
      throw std::invalid_argument(options.kernel + " takes a --size of at most " +
                                  std::to_string(each.largest));
  return options;
}

/// Runs a kernel and says what came out; returns whether it is right on all ranks. Collective.
bool run(const Named& kernel, const Options& options) {
  const int size = options.size > 0 ? options.size : kernel.usual;
  const Kernel compute = kernel.make(size);
  const Result checked = compute(true);
  const int right = checked.right ? 1 : 0;
  int all_right = 0;
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = example::now();
  for (int time = 0; time < options.repeat; ++time)
    compute(false);
  const double seconds = example::now() - begin;
  if (example::rank_of_world() == 0) {
    std::printf("%s on %d ranks: %.6f, %s\n", kernel.name, example::size_of_world(), checked.value,
                all_right != 0 ? "as computed serially" : "WRONG");
    if (options.repeat > 0)
      std::fprintf(stderr, "%s took %.4f s\n", kernel.name, seconds / options.repeat);
  }
  return all_right != 0;
}

} // namespace

int main(int argc, char** argv) {
  return example::run_program(argc, argv, "patterns", usage,
                              [](int count, char** words, double /*initialisation*/) {
                                const Options options = parse(count, words);
                                bool right = true;
                                for (const Named& kernel : kernels)
                                  if (options.kernel == "all" || options.kernel == kernel.name)
                                    right = run(kernel, options) && right;
                                return right;
                              });
}
