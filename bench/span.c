/* Says how long a program takes between MPI_Init and MPI_Finalize, natively and simulated alike:
 * linked into it with --wrap=MPI_Init and --wrap=MPI_Finalize. All ranks begin together, and the
 * last one's end counts; what starting takes isn't in it. */
#include <mpi.h>
#include <stdio.h>

int __real_MPI_Init(int* argc, char*** argv);
int __real_MPI_Finalize(void);

static double begin;

int __wrap_MPI_Init(int* argc, char*** argv) {
  const int status = __real_MPI_Init(argc, argv);
  PMPI_Barrier(MPI_COMM_WORLD);
  begin = MPI_Wtime();
  return status;
}

int __wrap_MPI_Finalize(void) {
  PMPI_Barrier(MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("span %.9f s\n", MPI_Wtime() - begin);
  return __real_MPI_Finalize();
}
