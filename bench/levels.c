/* What MPICH has and SMPI hasn't, for programs that SMPI simulates: levels by hosts, and a scatter
 * that sends to the largest subtree first. The collectives that BY_HOSTS names go between the
 * hosts' leaders and within the hosts, by the algorithms that SMPI is told, in MPI_COMM_WORLD and
 * in communicators of the same ranks. A host's leader is the first of its ranks; HOSTS_OF_RANKS is
 * a file with each rank's host, which are numbered in the order of their leaders. The communicators
 * of a level are made by the first of these calls, and in them one broadcast each.
 * Source: MPICH 4.0, ch4_coll_impl.h: compositions "alpha" of bcast, reduce, allreduce, barrier;
 * scatter_intra_binomial.c. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Comm host = MPI_COMM_NULL;
static MPI_Comm leaders = MPI_COMM_NULL; /* stays so on ranks that lead no host */
static int* host_of = NULL;              /* by rank; it is its leader's rank among the leaders */
static int* leader_of = NULL;            /* by host */

static MPI_Comm made_of(const int* ranks, int count) {
  MPI_Group all, some;
  MPI_Comm made;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, count, ranks, &some);
  PMPI_Comm_create(MPI_COMM_WORLD, some, &made);
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  return made;
}

static void read_hosts(int ranks) {
  const size_t bytes = (size_t)ranks * sizeof(int);
  host_of = malloc(bytes), leader_of = malloc(bytes);
  FILE* file = fopen(getenv("HOSTS_OF_RANKS"), "r");
  for (int rank = 0; rank < ranks; ++rank) {
    if (file == NULL || fscanf(file, "%d", &host_of[rank]) != 1) {
      printf("WRONG: HOSTS_OF_RANKS has no host of rank %d\n", rank);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  fclose(file);
}

static void set_up(void) {
  int ranks, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  read_hosts(ranks);
  int* near = malloc((size_t)ranks * sizeof(int));
  int hosts = 0, on_host = 0;
  for (int each = 0; each < ranks; ++each) {
    if (host_of[each] == host_of[rank]) near[on_host++] = each;
    if (host_of[each] == hosts) leader_of[hosts++] = each;
  }
  host = made_of(near, on_host);
  leaders = made_of(leader_of, hosts);
  free(near);
}

static int has_ranks_of_world(MPI_Comm comm) {
  int compared;
  MPI_Comm_compare(comm, MPI_COMM_WORLD, &compared);
  return compared == MPI_IDENT || compared == MPI_CONGRUENT;
}

/* Whether a call goes by hosts. Those whose root leads no host don't: no program here has one. */
static int goes_by_hosts(const char* collective, int root, MPI_Comm comm) {
  const char* names = getenv("BY_HOSTS");
  if (names == NULL || strstr(names, collective) == NULL || !has_ranks_of_world(comm)) return 0;
  if (host == MPI_COMM_NULL) set_up();
  return leader_of[host_of[root]] == root;
}

static void* allocated(int count, MPI_Datatype type) {
  int size;
  MPI_Type_size(type, &size);
  return malloc((size_t)count * (size_t)size);
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  if (!goes_by_hosts("[bcast]", root, comm)) return PMPI_Bcast(data, count, type, root, comm);
  if (leaders != MPI_COMM_NULL) PMPI_Bcast(data, count, type, host_of[root], leaders);
  return PMPI_Bcast(data, count, type, 0, host);
}

int MPI_Reduce(const void* own, void* all, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  if (!goes_by_hosts("[reduce]", root, comm))
    return PMPI_Reduce(own, all, count, type, op, root, comm);
  void* of_host = allocated(count, type);
  PMPI_Reduce(own == MPI_IN_PLACE ? all : own, of_host, count, type, op, 0, host);
  if (leaders != MPI_COMM_NULL) PMPI_Reduce(of_host, all, count, type, op, host_of[root], leaders);
  free(of_host);
  return MPI_SUCCESS;
}

int MPI_Allreduce(const void* own, void* all, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  if (!goes_by_hosts("[allreduce]", 0, comm))
    return PMPI_Allreduce(own, all, count, type, op, comm);
  void* of_host = allocated(count, type);
  PMPI_Reduce(own == MPI_IN_PLACE ? all : own, of_host, count, type, op, 0, host);
  if (leaders != MPI_COMM_NULL) PMPI_Allreduce(of_host, all, count, type, op, leaders);
  free(of_host);
  return PMPI_Bcast(all, count, type, 0, host);
}

int MPI_Barrier(MPI_Comm comm) {
  if (!goes_by_hosts("[barrier]", 0, comm)) return PMPI_Barrier(comm);
  char none = 0;
  PMPI_Barrier(host);
  if (leaders != MPI_COMM_NULL) PMPI_Barrier(leaders);
  return PMPI_Bcast(&none, 1, MPI_CHAR, 0, host);
}

static int least(int a, int b) { return a < b ? a : b; }

/* The blocks of a rank's subtree, its own first; the root has those of all. */
static char* received(const char* all, int bytes, int below, int relative, int root,
                      MPI_Comm comm) {
  int ranks;
  MPI_Comm_size(comm, &ranks);
  const int blocks = least(below, ranks - relative);
  char* data = malloc((size_t)blocks * (size_t)bytes);
  if (relative > 0) {
    const int parent = (relative - below + root) % ranks;
    PMPI_Recv(data, blocks * bytes, MPI_BYTE, parent, 0, comm, MPI_STATUS_IGNORE);
    return data;
  }
  for (int each = 0; each < ranks; ++each) /* from the root on */
    memcpy(data + (size_t)each * (size_t)bytes,
           all + (size_t)((root + each) % ranks) * (size_t)bytes, (size_t)bytes);
  return data;
}

/* SMPI's own begins with the smallest subtree, so that half of the data leave last. */
int MPI_Scatter(const void* all, int count, MPI_Datatype type, void* own, int own_count,
                MPI_Datatype own_type, int root, MPI_Comm comm) {
  int ranks, rank, bytes;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank);
  MPI_Type_size(rank == root ? type : own_type, &bytes);
  bytes *= rank == root ? count : own_count;
  const int relative = (rank - root + ranks) % ranks;
  int below = 1; /* ranks from this one to its sibling */
  while (below < ranks && (relative & below) == 0)
    below <<= 1;
  char* data = received(all, bytes, below, relative, root, comm);
  for (int far = below / 2; far > 0; far /= 2) {
    if (relative + far >= ranks) continue;
    const int blocks = least(far, ranks - relative - far);
    PMPI_Send(data + (size_t)far * (size_t)bytes, blocks * bytes, MPI_BYTE, (rank + far) % ranks, 0,
              comm);
  }
  if (own != MPI_IN_PLACE) memcpy(own, data, (size_t)bytes);
  free(data);
  return MPI_SUCCESS;
}
