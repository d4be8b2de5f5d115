// All collectives under SMPI, with the runtime linked in, against what MPI defines the results to
// be: simulated FORCE. Prints "right" if all ranks' results are, and each rank has globals and a
// thalweg of its own.
#include <cstdio>
#include <mpi.h>
#include <numeric>
#include <string>
#include <vector>

extern "C" int thalweg_force(const char* text);

namespace {

using Longs = std::vector<long>;

int rank, size;    // per rank, though all ranks share a process
int own_calls = 0; // counted by this rank alone
bool good = true;

void check(bool right, const char* what) {
  if (!right) std::fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  good &= right;
}

/// What rank `of` contributes: of * 1000 + i for element i.
Longs contribution(int of, int count) {
  Longs values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), of * 1000L);
  return values;
}

/// The sum of what the first `ranks` ranks contribute to element i: 1000 * (0 + ... + ranks - 1) +
/// ranks * i.
Longs sums(int ranks, int count) {
  Longs values(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] = 500L * ranks * (ranks - 1) + long{ranks} * i;
  return values;
}

/// The contributions of all ranks, one after the other.
Longs all_contributions(int count) {
  Longs values;
  for (int of = 0; of < size; ++of)
    for (const long value : contribution(of, count))
      values.push_back(value);
  return values;
}

Longs part(const Longs& values, int at, int count) {
  return {values.begin() + at, values.begin() + at + count};
}

void around(int count) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  const Longs own = contribution(rank, count);
  Longs data(own.size());
  MPI_Sendrecv(own.data(), count, MPI_LONG, right, 0, data.data(), count, MPI_LONG, left, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check(data == contribution(left, count), "sendrecv");
}

void from_root(int root, int count) {
  Longs data = rank == root ? contribution(root, count) : Longs(contribution(root, count).size());
  MPI_Bcast(data.data(), count, MPI_LONG, root, MPI_COMM_WORLD);
  check(data == contribution(root, count), "bcast");
  const Longs all = all_contributions(count);
  Longs own(static_cast<std::size_t>(count));
  MPI_Scatter(all.data(), count, MPI_LONG, own.data(), count, MPI_LONG, root, MPI_COMM_WORLD);
  check(own == contribution(rank, count), "scatter");
}

void to_root(int root, int count) {
  const Longs own = contribution(rank, count);
  Longs data(own.size()), all(own.size() * static_cast<std::size_t>(size));
  MPI_Reduce(own.data(), data.data(), count, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD);
  check(rank != root || data == sums(size, count), "reduce");
  MPI_Gather(own.data(), count, MPI_LONG, all.data(), count, MPI_LONG, root, MPI_COMM_WORLD);
  check(rank != root || all == all_contributions(count), "gather");
}

void to_all(int count) {
  const Longs own = contribution(rank, count);
  Longs data(own.size()), all(own.size() * static_cast<std::size_t>(size));
  MPI_Allreduce(own.data(), data.data(), count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  check(data == sums(size, count), "allreduce");
  MPI_Scan(own.data(), data.data(), count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  check(data == sums(rank + 1, count), "scan");
  MPI_Exscan(own.data(), data.data(), count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  check(rank == 0 || data == sums(rank, count), "exscan");
  MPI_Allgather(own.data(), count, MPI_LONG, all.data(), count, MPI_LONG, MPI_COMM_WORLD);
  check(all == all_contributions(count), "allgather");
}

/// Each rank has a block for each rank.
void in_blocks(int count) {
  const Longs own = contribution(rank, size * count);
  Longs blocks(own.size()), block(static_cast<std::size_t>(count)), expected;
  MPI_Alltoall(own.data(), count, MPI_LONG, blocks.data(), count, MPI_LONG, MPI_COMM_WORLD);
  for (int from = 0; from < size; ++from)
    for (const long value : part(contribution(from, size * count), rank * count, count))
      expected.push_back(value);
  check(blocks == expected, "alltoall");
  MPI_Reduce_scatter_block(own.data(), block.data(), count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  check(block == part(sums(size, size * count), rank * count, count), "reduce_scatter");
}

/// No rank leaves before the last has entered, which slept for ten seconds of simulated time.
void all_meet() {
  const double begin = MPI_Wtime();
  if (rank == size - 1) smpi_sleep(10);
  MPI_Barrier(MPI_COMM_WORLD);
  check(MPI_Wtime() - begin >= 10, "barrier");
}

} // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check(argc > 1 && thalweg_force(argv[1]) == 0, "force");
  for (const int count : {1, 7, 10'000}) {
    ++own_calls;
    for (const int root : {0, size / 2}) {
      from_root(root, count);
      to_root(root, count);
    }
    to_all(count);
    in_blocks(count);
    around(count);
  }
  all_meet();
  check(own_calls == 3, "a global of its own");
  const int own = good ? 1 : 0;
  int all = 0;
  PMPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%s\n", all != 0 ? "right" : "wrong");
  MPI_Finalize();
  return all != 0 ? 0 : 1;
}
