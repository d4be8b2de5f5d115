// Calls of few shapes on MPI_COMM_WORLD, so that their plans are raced and replaced:
// adapting SECONDS [rooted]
// With "rooted" only collectives that ranks may leave early. Exits with 1 if a result is wrong.
#include "check.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace thalweg::test {
namespace {

constexpr int sizes[] = {64, 20'000};

void bcast(int number, int count) {
  const int root = 0;
  std::vector<int> data(static_cast<std::size_t>(count),
                        rank_of(MPI_COMM_WORLD) == root ? number : -1);
  MPI_Bcast(data.data(), count, MPI_INT, root, MPI_COMM_WORLD);
  check(std::ranges::all_of(data, [&](int each) { return each == number; }), "bcast");
}

void reduce(int number, int count) {
  const int rank = rank_of(MPI_COMM_WORLD), ranks = size_of(MPI_COMM_WORLD);
  const std::vector<int> in(static_cast<std::size_t>(count), number + rank);
  std::vector<int> out(in.size(), -1);
  MPI_Reduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  const int sum = ranks * number + ranks * (ranks - 1) / 2;
  check(rank != 0 || std::ranges::all_of(out, [&](int each) { return each == sum; }), "reduce");
}

/// The root receives other types than the ranks send, in place.
void gather(int number, int count) {
  const int rank = rank_of(MPI_COMM_WORLD), ranks = size_of(MPI_COMM_WORLD), fours = count / 4;
  MPI_Datatype four = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(4, MPI_INT, &four);
  MPI_Type_commit(&four);
  const auto block = static_cast<std::size_t>(4 * fours);
  if (rank != 0) {
    const std::vector<int> in(block, number + rank);
    MPI_Gather(in.data(), 4 * fours, MPI_INT, nullptr, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
  } else {
    std::vector<int> all(block * static_cast<std::size_t>(ranks), number);
    MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), fours, four, 0, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < all.size(); ++i)
      check(all[i] == number + static_cast<int>(i / block), "gather");
  }
  MPI_Type_free(&four);
}

void allreduce(int number, int count) {
  const int rank = rank_of(MPI_COMM_WORLD), ranks = size_of(MPI_COMM_WORLD);
  std::vector<int> data(static_cast<std::size_t>(count), number + rank);
  MPI_Allreduce(MPI_IN_PLACE, data.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const int sum = ranks * number + ranks * (ranks - 1) / 2;
  check(std::ranges::all_of(data, [&](int each) { return each == sum; }), "allreduce");
}

/// Makes the same calls on all ranks until rank 0's time is over.
void run(double seconds, bool rooted) {
  say_begun();
  const double end = MPI_Wtime() + seconds;
  for (int number = 0, goes_on = 1; goes_on != 0; ++number) {
    context = "call " + std::to_string(number);
    const int count = sizes[number / 64 % 2];
    bcast(number, count);
    if (!rooted)
      allreduce(number, count);
    else if (number % 2 == 0)
      reduce(number, count);
    else
      gather(number, count);
    if (number % 64 != 0) continue;
    goes_on = MPI_Wtime() < end ? 1 : 0;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

} // namespace
} // namespace thalweg::test

int main(int argc, char** argv) {
  using namespace thalweg::test;
  MPI_Init(&argc, &argv);
  if (argc < 2) {
    std::fprintf(stderr, "usage: adapting SECONDS [rooted]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  run(std::atof(argv[1]), argc > 2 && std::string(argv[2]) == "rooted");
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
