/* Preloaded below the runtime: a rank that has the variable TEST_WAITS_FOR comes to the runtime's
 * first agreement, in MPI_Init, only when there is the file that it names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

/* The runtime asks for it before it agrees on anything. */
int PMPI_Query_thread(int* level) {
  static int (*next)(int*);
  const char* const path = getenv("TEST_WAITS_FOR");
  int found = 0;
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "PMPI_Query_thread"); /* as POSIX has it */
  while (path && access(path, F_OK) != 0) {
    /* Lets the MPI library go on, which others may need to leave MPI_Init. */
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    usleep(1000);
  }
  return next(level);
}
