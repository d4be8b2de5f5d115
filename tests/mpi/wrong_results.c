/* Broadcasts that deliver nothing, and sums that aren't numbers after the first: programs that
 * check their results must notice. */
#include <math.h>
#include <mpi.h>

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  (void)buffer;
  (void)count;
  (void)type;
  (void)root;
  (void)comm;
  return MPI_SUCCESS;
}

int MPI_Allreduce(const void* own, void* all, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  static int sums;
  const int code = PMPI_Allreduce(own, all, count, type, op, comm);
  if (op == MPI_SUM && type == MPI_DOUBLE && sums++ > 0) ((double*)all)[0] = nan("");
  return code;
}
