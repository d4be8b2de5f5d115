/* Calls one collective, whose name and bytes are the arguments, once on all ranks; its root is rank
 * 0. All ranks begin at the same time, after a call of few bytes, which sets up what the first
 * one of a collective needs. Prints the seconds until the last one is through, and WRONG if a rank
 * has a wrong result. A program for SMPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;
static const int few = 4096; /* SMPI's reduce needs a byte for each rank */

/* What a rank has of a vector: another value at the first byte for each of 251 ranks. */
static unsigned char value(int of_rank, int at) {
  return (unsigned char)((7 * of_rank + at) % 251);
}

static void fill(char* data, int of_rank, int bytes) {
  for (int at = 0; at < bytes; ++at)
    data[at] = (char)value(of_rank, at);
}

/* Bytes of a rank's block that are wrong; the first and last ones are looked at. */
static int differing(const char* data, int of_rank, int bytes) {
  return (data[0] != (char)value(of_rank, 0)) +
         (data[bytes - 1] != (char)value(of_rank, bytes - 1));
}

/* Whether a sum over all ranks, modulo 256, is right at its first and last byte. */
static int is_sum(const char* data, int bytes) {
  unsigned first = 0, last = 0;
  for (int each = 0; each < ranks; ++each) {
    first += value(each, 0);
    last += value(each, bytes - 1);
  }
  return data[0] == (char)first && data[bytes - 1] == (char)last;
}

/* Makes the call; whether this rank's result is right. */
static int called(const char* name, char* own, char* all, int bytes) {
  if (strcmp(name, "bcast") == 0) {
    MPI_Bcast(own, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    return differing(own, 0, bytes) == 0;
  }
  if (strcmp(name, "reduce") == 0) {
    MPI_Reduce(own, all, bytes, MPI_UNSIGNED_CHAR, MPI_SUM, 0, MPI_COMM_WORLD);
    return rank > 0 || is_sum(all, bytes);
  }
  if (strcmp(name, "scatter") == 0) {
    MPI_Scatter(all, bytes, MPI_BYTE, own, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    return differing(own, rank, bytes) == 0;
  }
  MPI_Gather(own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  int wrong = 0;
  for (int each = 0; rank == 0 && each < ranks; ++each)
    wrong += differing(all + (size_t)each * (size_t)bytes, each, bytes);
  return wrong == 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* name = argv[1];
  const int bytes = atoi(argv[2]);
  const int is_bcast = strcmp(name, "bcast") == 0, is_scatter = strcmp(name, "scatter") == 0;
  char* own = calloc(1, (size_t)bytes);
  char* all = rank == 0 ? calloc((size_t)ranks, (size_t)bytes) : NULL; /* blocks of all ranks */
  called(name, own, all, bytes < few ? bytes : few);
  memset(own, 9, (size_t)bytes); /* wrong, but for ranks that have data before the call */
  if (rank == 0) memset(all, 9, (size_t)ranks * (size_t)bytes);
  if (!is_scatter && (rank == 0 || !is_bcast)) fill(own, rank, bytes);
  for (int each = 0; is_scatter && rank == 0 && each < ranks; ++each)
    fill(all + (size_t)each * (size_t)bytes, each, bytes);

  double begin = MPI_Wtime();
  PMPI_Allreduce(MPI_IN_PLACE, &begin, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  begin += 10;
  usleep((useconds_t)((begin - MPI_Wtime()) * 1e6));
  int right = called(name, own, all, bytes);

  double end = MPI_Wtime();
  PMPI_Allreduce(MPI_IN_PLACE, &end, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  PMPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) printf("call %.9f s\n", end - begin);
  if (rank == 0 && !right) printf("WRONG result of %s\n", name);
  MPI_Finalize();
  return 0;
}
