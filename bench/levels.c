/* Levels by hosts, as MPICH has them, for programs that SMPI simulates: the collectives that
 * BY_HOSTS names go between the hosts' leaders and within the hosts, by the algorithms that SMPI is
 * told. A host's leader is the first of its ranks; HOSTS_OF_RANKS is a file with each rank's host,
 * which are numbered in the order of their leaders. The communicators of a level are made by the
 * first of these calls, and in them one broadcast each.
 * Source: MPICH 4.0, ch4_coll_impl.h: compositions "alpha" of bcast, reduce, allreduce, barrier. */
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

/* Whether a call goes by hosts. Those whose root leads no host don't: no program here has one. */
static int goes_by_hosts(const char* collective, int root, MPI_Comm comm) {
  const char* names = getenv("BY_HOSTS");
  if (comm != MPI_COMM_WORLD || names == NULL || strstr(names, collective) == NULL) return 0;
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
