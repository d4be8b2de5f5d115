// Collectives of neighbourhoods with blocks of known sizes: on a graph in which each rank sends to
// the next one and to the one after that, and on a line. tests/mpi/record.py knows what is sent.

#include "check.hpp"

#include <vector>

using namespace thalweg::test;

namespace {

using Doubles = std::vector<double>;

void on_graph(int self, int size) {
  const std::vector<int> sources = {(self + size - 1) % size, (self + size - 2) % size};
  const std::vector<int> destinations = {(self + 1) % size, (self + 2) % size};
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources.data(), MPI_UNWEIGHTED, 2,
                                 destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  const Doubles out(100, self);
  Doubles in(100, -1);
  MPI_Neighbor_allgather(out.data(), 3, MPI_DOUBLE, in.data(), 3, MPI_DOUBLE, comm);
  check(in[0] == sources[0] && in[3] == sources[1], "neighbor_allgather");

  const std::vector<int> sent = {1 + self, 2 + self}, received = {1 + sources[0], 2 + sources[1]};
  const std::vector<int> from = {0, 20}, to = {0, 50};
  MPI_Neighbor_alltoallv(out.data(), sent.data(), from.data(), MPI_DOUBLE, in.data(),
                         received.data(), to.data(), MPI_DOUBLE, comm);
  check(in[0] == sources[0] && in[50] == sources[1], "neighbor_alltoallv");

  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ineighbor_alltoall(out.data(), 2, MPI_DOUBLE, in.data(), 2, MPI_DOUBLE, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check(in[0] == sources[0] && in[2] == sources[1], "ineighbor_alltoall");
  MPI_Comm_free(&comm);
}

void on_line(int self, int size) {
  const int periodic = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &comm);
  const Doubles out(10, self);
  Doubles in(10, -1);
  MPI_Neighbor_alltoall(out.data(), 5, MPI_DOUBLE, in.data(), 5, MPI_DOUBLE, comm);
  check(in[0] == self - 1, "neighbor_alltoall, from before"); // -1 at the first rank
  check(in[5] == (self + 1 < size ? self + 1 : -1), "neighbor_alltoall, from behind");
  MPI_Comm_free(&comm);
}

} // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int self = rank_of(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  on_graph(self, size);
  on_line(self, size);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
