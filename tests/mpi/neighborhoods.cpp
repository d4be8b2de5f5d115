// Collectives of neighbourhoods on random grids and graphs, against closed forms:
// neighborhoods blocking|nonblocking SEED ROUNDS REPEATS. Each round has a communicator, and as
// many repeats of all calls with data of other sizes. Rank 0 says what a summary must count.
#include "check.hpp"
#include "neighborhood_calls.hpp"
#include "random_draws.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  using namespace thalweg::test;
  if (argc != 5) return 2;
  const bool nonblocking = std::strcmp(argv[1], "nonblocking") == 0;
  int level = 0;
  MPI_Init_thread(&argc, &argv, nonblocking ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  Random shared(std::strtoull(argv[2], nullptr, 10));
  const auto rounds = std::strtoul(argv[3], nullptr, 10);
  const auto repeats = std::strtoul(argv[4], nullptr, 10);
  std::array<long long, 2> calls{}, bytes{};
  for (unsigned long round = 0; round < rounds; ++round) {
    context = "round " + std::to_string(round);
    NeighborhoodCalls its(shared, MPI_COMM_WORLD, nonblocking);
    for (unsigned long repeat = 0; repeat < repeats; ++repeat)
      its.run(shared);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      calls[i] += its.calls()[i];
      bytes[i] += its.bytes()[i];
    }
  }
  if (rank_of(MPI_COMM_WORLD) == 0)
    std::fprintf(stderr, "counted %lld %lld %lld %lld\n", calls[0], bytes[0], calls[1], bytes[1]);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
