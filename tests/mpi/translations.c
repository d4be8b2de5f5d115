/* Preloaded below the runtime: counts how often ranks are looked up in another group. At exit it
 * writes the number to the file TEST_TRANSLATIONS.<pid>. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int translations;

int PMPI_Group_translate_ranks(MPI_Group from, int count, const int ranks[], MPI_Group to,
                               int found[]) {
  static int (*next)(MPI_Group, int, const int[], MPI_Group, int[]);
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "PMPI_Group_translate_ranks"); /* as POSIX has it */
  ++translations;
  return next(from, count, ranks, to, found);
}

__attribute__((destructor)) static void report(void) {
  const char* const name = getenv("TEST_TRANSLATIONS");
  char path[4096];
  FILE* file;
  if (!name || translations == 0) return;
  snprintf(path, sizeof path, "%s.%d", name, (int)getpid());
  file = fopen(path, "w");
  if (!file) return;
  fprintf(file, "%d\n", translations);
  fclose(file);
}
