/* Preloaded into MPICH programs by the tests, where ranks outnumber the cores: MPICH over UCX spins
 * without giving way, so that a rank that waits keeps the one it waits for from running. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void* worker) {
  static unsigned (*next)(void*);
  unsigned events;
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "ucp_worker_progress"); /* as POSIX has it */
  if (!next) /* loaded outside the global scope, by a Python module */
    *(void**)&next = dlsym(dlopen("libucp.so.0", RTLD_NOW | RTLD_NOLOAD), "ucp_worker_progress");
  events = next(worker);
  if (events == 0) sched_yield();
  return events;
}
