/* Makes the hosts of ranks look faulty to what is preloaded above. Preloaded after the runtime,
 * whose calls of the MPI library pass here. THALWEG_DISTURBANCE="KIND MICROSECONDS RANK...", of
 * which KIND is slow-host (all that the rank sends and receives is held up), serialising-node (each
 * send holds up what the rank does next) or busy-core (the rank stops at random times). Without it
 * nothing is done. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char kind[32];
static double microseconds;
static pthread_t caller;

static bool is(const char* name) { return strcmp(kind, name) == 0; }

static void hold_up(double us) {
  const long ns = (long)(us * 1000);
  struct timespec left = {ns / 1000000000L, ns % 1000000000L};
  while (nanosleep(&left, &left) != 0)
    ;
}

static void on_signal(int number) {
  (void)number;
  hold_up(microseconds);
}

/* A core is taken from the rank for that time, on average after four times as long. */
static void* take_the_core(void* unused) {
  (void)unused;
  unsigned seed = 1;
  for (;;) {
    hold_up(microseconds * (1 + 8.0 * rand_r(&seed) / RAND_MAX));
    pthread_kill(caller, SIGUSR2);
  }
  return NULL;
}

static void begin(int rank) {
  const char* text = getenv("THALWEG_DISTURBANCE");
  const char* const end = text != NULL ? strchr(text, ' ') : NULL;
  if (end == NULL || (size_t)(end - text) >= sizeof kind) return;
  memcpy(kind, text, (size_t)(end - text));
  char* at = NULL;
  microseconds = strtod(end, &at);
  bool mine = false;
  for (char* last = NULL; at != last && *at == ' ';) {
    last = at;
    mine |= strtol(last, &at, 10) == rank;
  }
  if (!mine) kind[0] = '\0';
  if (is("busy-core")) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, NULL);
    caller = pthread_self();
    pthread_t thread;
    pthread_create(&thread, NULL, take_the_core, NULL);
  }
}

static void before_send(void) {
  static bool begun = false;
  if (!begun) {
    int rank = 0;
    begun = true;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    begin(rank);
  }
  if (is("slow-host")) hold_up(microseconds);
}

typedef int (*SendFunction)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
typedef int (*TestFunction)(int, MPI_Request*, int*, int*, MPI_Status*);

int PMPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  static SendFunction own = NULL;
  if (own == NULL) *(void**)&own = dlsym(RTLD_NEXT, "PMPI_Isend"); /* as POSIX has it */
  before_send();
  const int code = own(data, count, type, to, tag, comm, request);
  if (is("serialising-node")) hold_up(microseconds);
  return code;
}

int PMPI_Testsome(int count, MPI_Request requests[], int* done, int which[],
                  MPI_Status statuses[]) {
  static TestFunction own = NULL;
  if (own == NULL) *(void**)&own = dlsym(RTLD_NEXT, "PMPI_Testsome");
  const int code = own(count, requests, done, which, statuses);
  if (code == MPI_SUCCESS && *done > 0 && is("slow-host")) hold_up(microseconds);
  return code;
}
