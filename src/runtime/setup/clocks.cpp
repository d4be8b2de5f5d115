#include "runtime/setup/clocks.hpp"

#include "runtime/mpi/waiting.hpp"
#include "runtime/observe/clock.hpp"
#include "units/index.hpp"

#include <algorithm>

namespace thalweg::runtime {
namespace {

using observe::ClockReading;
using observe::monotonic_ns;

constexpr int usual_rounds = 10, least_rounds = 3;
constexpr std::int64_t longest_ns = 30'000'000;

enum Question : int { what_time, no_more };

void send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  MPI_Request request = native.request_null;
  native.Isend(data, count, type, to, tag, comm, &request);
  await(request, MPI_STATUS_IGNORE);
}

int receive(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm) {
  MPI_Request request = native.request_null;
  MPI_Status status{};
  native.Irecv(data, count, type, from, tag, comm, &request);
  await(request, &status);
  return status.MPI_SOURCE;
}

/// Answers until none of so many ranks has a question any more.
void answer(int askers, MPI_Comm comm, int tag) {
  while (askers > 0) {
    int question = no_more;
    const int from = receive(&question, 1, native.integer, MPI_ANY_SOURCE, tag, comm);
    const std::int64_t time_ns = monotonic_ns();
    if (question == what_time)
      send(&time_ns, 1, native.int64, from, tag, comm);
    else
      --askers;
  }
}

ClockReading ask(MPI_Comm comm, int tag) {
  observe::ClockBounds bounds;
  std::int64_t begin_ns = 0;
  for (int round = 0; round < usual_rounds; ++round) {
    const int question = what_time;
    std::int64_t there_ns = 0;
    const std::int64_t before_ns = monotonic_ns();
    send(&question, 1, native.integer, 0, tag, comm);
    receive(&there_ns, 1, native.int64, 0, tag, comm);
    const std::int64_t after_ns = monotonic_ns();
    bounds.add(before_ns, there_ns, after_ns);
    if (round == 0) begin_ns = after_ns; // rank 0 may have come late
    if (round + 1 >= least_rounds && after_ns - begin_ns > longest_ns) break;
  }
  const int question = no_more;
  send(&question, 1, native.integer, 0, tag, comm);
  return bounds.reading();
}

} // namespace

std::vector<ClockReading> compare_clocks(const std::vector<std::int32_t>& hosts, MPI_Comm comm,
                                         int tag) {
  int rank = 0;
  native.Comm_rank(comm, &rank);
  std::vector<std::size_t> first; // rank, by host
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::size_t host = index(hosts[i]);
    if (host >= first.size()) first.resize(host + 1, hosts.size());
    first[host] = std::min(first[host], i);
  }
  const std::size_t self = index(rank);
  ClockReading own{.at_ns = monotonic_ns()};
  if (rank == 0)
    answer(static_cast<int>(std::ranges::count_if(
               first, [&](std::size_t its) { return 0 < its && its < hosts.size(); })),
           comm, tag);
  else if (hosts[self] != hosts[0] && first[index(hosts[self])] == self)
    own = ask(comm, tag);
  std::vector<ClockReading> all(hosts.size());
  native.Allgather(&own, sizeof own, native.byte, all.data(), sizeof own, native.byte, comm);
  std::vector<ClockReading> result;
  for (const std::int32_t host : hosts)
    result.push_back(all[first[index(host)]]);
  return result;
}

} // namespace thalweg::runtime
