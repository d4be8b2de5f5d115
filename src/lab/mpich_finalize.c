/* Preloaded by `thalweg lab run`: lets programs of MPICH 4.0 over UCX end.
 *
 * In MPI_Finalize such a rank closes its connections, which needs an answer from each peer, and
 * then blocks in a barrier of the launcher, where it answers nobody. Over TCP a rank that comes
 * later by about a round trip waits for ever, on a real long network as well (MPICH merged its cure
 * as pull request 6596). Here UCX is given its turns while the rank waits in that barrier. Nothing
 * happens before the first connection is closed, nor in programs that don't use UCX. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

typedef signed char ucs_status_t; /* a packed enumeration */

__attribute__((visibility("default"))) ucs_status_t
ucp_worker_create(void* context, const void* parameters, void** worker);
__attribute__((visibility("default"))) void* ucp_disconnect_nb(void* endpoint);
__attribute__((visibility("default"))) void ucp_worker_destroy(void* worker);

static void* the_worker;
static int closing;

typedef struct {
  const char* name;
  void *own, *found;
} Search;

/* Whether a loaded library, or one that it needs, has another function of the name than ours. */
static int look_into(struct dl_phdr_info* library, size_t size, void* data) {
  (void)size;
  Search* const search = data;
  if (library->dlpi_name[0] == '\0') return 0; /* the program, which sees ours first */
  void* const handle = dlopen(library->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == NULL) return 0;
  void* const found = dlsym(handle, search->name);
  dlclose(handle);
  if (found == NULL || found == search->own) return 0;
  search->found = found;
  return 1;
}

/* Writes the address of the next function of this name to a function pointer. RTLD_NEXT doesn't
 * look into libraries that a program loaded for itself, as Python loads MPI for mpi4py. */
static void find(void* pointer, const char* name) {
  Search search = {name, dlsym(RTLD_DEFAULT, name), dlsym(RTLD_NEXT, name)};
  if (search.found == NULL) dl_iterate_phdr(look_into, &search);
  if (search.found == NULL) {
    fprintf(stderr, "thalweg: the lab's library for MPICH doesn't find %s\n", name);
    abort();
  }
  *(void**)pointer = search.found;
}

ucs_status_t ucp_worker_create(void* context, const void* parameters, void** worker) {
  ucs_status_t (*real)(void*, const void*, void**);
  find(&real, "ucp_worker_create");
  const ucs_status_t status = real(context, parameters, worker);
  if (status == 0 && the_worker == NULL) the_worker = *worker;
  return status;
}

void ucp_worker_destroy(void* worker) {
  if (worker == the_worker) the_worker = NULL;
  void (*real)(void*);
  find(&real, "ucp_worker_destroy");
  real(worker);
}

void* ucp_disconnect_nb(void* endpoint) {
  closing = 1;
  void* (*real)(void*);
  find(&real, "ucp_disconnect_nb");
  return real(endpoint);
}

static int is_launcher(int fd) {
  const char* text = getenv("PMI_FD");
  return text != NULL && strtol(text, NULL, 10) == fd;
}

__attribute__((visibility("default"))) ssize_t read(int fd, void* buffer, size_t size) {
  static ssize_t (*real)(int, void*, size_t);
  if (real == NULL) find(&real, "read");
  if (closing && the_worker != NULL && is_launcher(fd)) {
    unsigned (*progress)(void*);
    find(&progress, "ucp_worker_progress");
    struct pollfd wait = {fd, POLLIN, 0};
    while (poll(&wait, 1, 1) == 0)
      progress(the_worker);
  }
  return real(fd, buffer, size);
}
