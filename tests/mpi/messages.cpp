// Sends messages by every function that sends point to point, so that their counts can be checked.
// By each function each rank sends once to each rank, itself included: 3 · from + to doubles. Then
// the odd and the even ranks send an int by MPI_Send to each rank of their own communicator, in
// which the last comes first, and of the other one across an intercommunicator; and each rank sends
// the next one messages of no data and no type, if the library takes these. Rank 0 prints the
// number of functions and of those messages. With "kill", rank 1 is killed in the end. With
// "go", the ranks go to another working folder, the next argument. With "threads", threads begin by
// sending at once to the next rank on one communicator after the other; rank 0 prints how many
// messages each rank sends so.

#include "check.hpp"

#include <array>
#include <barrier>
#include <csignal>
#include <dlfcn.h>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace thalweg::test;

namespace {

constexpr int tag = 5;

/// What a function sends, and to whom.
struct Outgoing {
  std::vector<double> data;
  int count, to;
};

/// Lets every rank send once to every rank by `send`. @return 1: a function
template <class Body>
int exchange(const Body& send) {
  const int ranks = size_of(MPI_COMM_WORLD), self = rank_of(MPI_COMM_WORLD);
  for (int shift = 0; shift < ranks; ++shift) {
    const int to = (self + shift) % ranks, from = (self + ranks - shift) % ranks;
    std::vector<double> received(static_cast<std::size_t>(3 * from + self) + 1);
    Outgoing out{std::vector<double>(received.size() + 4096), 3 * self + to, to};
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Irecv(received.data(), 3 * from + self, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, &receive);
    MPI_Barrier(MPI_COMM_WORLD); // for the ready sends
    send(out);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
  }
  return 1;
}

template <class Send>
int blocking(Send send) {
  return exchange([send](const Outgoing& out) {
    send(out.data.data(), out.count, MPI_DOUBLE, out.to, tag, MPI_COMM_WORLD);
  });
}

template <class Send>
int nonblocking(Send send) {
  return exchange([send](const Outgoing& out) {
    MPI_Request request = MPI_REQUEST_NULL;
    send(out.data.data(), out.count, MPI_DOUBLE, out.to, tag, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
}

template <class Init>
int persistent(Init init) {
  return exchange([init](const Outgoing& out) {
    MPI_Request request = MPI_REQUEST_NULL;
    init(out.data.data(), out.count, MPI_DOUBLE, out.to, tag, MPI_COMM_WORLD, &request);
    out.count % 2 == 0 ? MPI_Start(&request) : MPI_Startall(1, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  });
}

template <class Sendrecv>
int two_ways(Sendrecv sendrecv) {
  return exchange([sendrecv](const Outgoing& out) {
    sendrecv(out.data.data(), out.count, MPI_DOUBLE, out.to, tag, nullptr, 0, MPI_DOUBLE,
             MPI_PROC_NULL, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
}

template <class Sendrecv>
int in_place(Sendrecv sendrecv) {
  return exchange([sendrecv](Outgoing out) {
    sendrecv(out.data.data(), out.count, MPI_DOUBLE, out.to, tag, MPI_PROC_NULL, tag,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
}

/// Sends by partitioned messages, which other functions receive. @return 1: a function
int partitioned() {
  using Init = int (*)(const void*, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info,
                       MPI_Request*);
  const auto send_init = reinterpret_cast<Init>(dlsym(RTLD_DEFAULT, "MPI_Psend_init"));
  const auto receive_init = reinterpret_cast<Init>(dlsym(RTLD_DEFAULT, "MPI_Precv_init"));
  const auto ready = reinterpret_cast<int (*)(int, MPI_Request)>(dlsym(RTLD_DEFAULT, "MPI_Pready"));
  const int ranks = size_of(MPI_COMM_WORLD), self = rank_of(MPI_COMM_WORLD);
  for (int shift = 0; shift < ranks; ++shift) {
    const int to = (self + shift) % ranks, from = (self + ranks - shift) % ranks;
    std::vector<double> sent(4096), received(4096);
    std::array<MPI_Request, 2> requests{};
    MPI_Barrier(MPI_COMM_WORLD); // as in the others
    send_init(sent.data(), 1, 3 * self + to, MPI_DOUBLE, to, tag, MPI_COMM_WORLD, MPI_INFO_NULL,
              requests.data());
    receive_init(received.data(), 1, 3 * from + self, MPI_DOUBLE, from, tag, MPI_COMM_WORLD,
                 MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests.data());
    ready(0, requests[0]);
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    for (MPI_Request& request : requests)
      MPI_Request_free(&request);
  }
  return 1;
}

/// Sends by what MPI has since version 4, be it only in the library that the program runs with.
/// @return the number of functions
int send_by_new_functions() {
  if (!library_has("MPI_Isendrecv")) return 0;
  using Isendrecv = int (*)(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int,
                            int, MPI_Comm, MPI_Request*);
  using Replace = int (*)(void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*);
  const auto isendrecv = reinterpret_cast<Isendrecv>(dlsym(RTLD_DEFAULT, "MPI_Isendrecv"));
  const auto replace = reinterpret_cast<Replace>(dlsym(RTLD_DEFAULT, "MPI_Isendrecv_replace"));
  return exchange([isendrecv](const Outgoing& out) {
           MPI_Request request = MPI_REQUEST_NULL;
           isendrecv(out.data.data(), out.count, MPI_DOUBLE, out.to, tag, nullptr, 0, MPI_DOUBLE,
                     MPI_PROC_NULL, tag, MPI_COMM_WORLD, &request);
           MPI_Wait(&request, MPI_STATUS_IGNORE);
         }) +
         exchange([replace](Outgoing out) {
           MPI_Request request = MPI_REQUEST_NULL;
           replace(out.data.data(), out.count, MPI_DOUBLE, out.to, tag, MPI_PROC_NULL, tag,
                   MPI_COMM_WORLD, &request);
           MPI_Wait(&request, MPI_STATUS_IGNORE);
         }) +
         partitioned();
}

/// @return the number of functions
int send_by_all_functions() {
  std::vector<char> attached(1 << 20);
  MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
  int functions = blocking(MPI_Send) + blocking(MPI_Ssend) + blocking(MPI_Bsend) +
                  blocking(MPI_Rsend) + nonblocking(MPI_Isend) + nonblocking(MPI_Issend) +
                  nonblocking(MPI_Ibsend) + nonblocking(MPI_Irsend) + persistent(MPI_Send_init) +
                  persistent(MPI_Ssend_init) + persistent(MPI_Bsend_init) +
                  persistent(MPI_Rsend_init) + two_ways(MPI_Sendrecv) +
                  in_place(MPI_Sendrecv_replace);
#if MPI_VERSION >= 4
  functions += blocking(MPI_Send_c) + nonblocking(MPI_Isend_c) + persistent(MPI_Ssend_init_c) +
               two_ways(MPI_Sendrecv_c) + in_place(MPI_Sendrecv_replace_c);
#endif
  functions += send_by_new_functions();
  void* detached = nullptr;
  int size = 0;
  MPI_Buffer_detach(static_cast<void*>(&detached), &size);
  return functions;
}

/// Sends an int to each destination of a communicator and to nobody.
void send_to_all(MPI_Comm comm, int destinations) {
  std::vector<int> received(static_cast<std::size_t>(destinations));
  std::vector<MPI_Request> requests(received.size());
  for (int from = 0; from < destinations; ++from)
    MPI_Irecv(&received[static_cast<std::size_t>(from)], 1, MPI_INT, from, tag, comm,
              &requests[static_cast<std::size_t>(from)]);
  const int value = 1;
  for (int to = 0; to < destinations; ++to)
    MPI_Send(&value, 1, MPI_INT, to, tag, comm);
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, tag, comm);
  MPI_Waitall(destinations, requests.data(), MPI_STATUSES_IGNORE);
}

void send_on_other_communicators() {
  const int self = rank_of(MPI_COMM_WORLD);
  MPI_Comm half = MPI_COMM_NULL, across = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, self % 2, -self, &half);
  MPI_Barrier(half);
  send_to_all(half, size_of(half));
  const int last = size_of(MPI_COMM_WORLD) - 1; // which leads its half
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, self % 2 == last % 2 ? last - 1 : last, tag,
                       &across);
  int others = 0;
  MPI_Comm_remote_size(across, &others);
  send_to_all(across, others);
  MPI_Comm_free(&across);
  MPI_Comm_free(&half);
}

/// Whether the library takes a message of no data that has no type, as MPICH does. This one goes to
/// nobody.
bool takes_no_type() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int code = MPI_Send(nullptr, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, tag, comm);
  MPI_Comm_free(&comm);
  return code == MPI_SUCCESS;
}

/// Sends the next rank messages of no data and no type. @return how many
int send_nothing() {
  if (!takes_no_type()) return 0;
  const int ranks = size_of(MPI_COMM_WORLD), self = rank_of(MPI_COMM_WORLD);
  const int next = (self + 1) % ranks, previous = (self + ranks - 1) % ranks;
  std::array<MPI_Request, 3> requests{};
  MPI_Irecv(nullptr, 0, MPI_BYTE, previous, tag, MPI_COMM_WORLD, requests.data());
  MPI_Irecv(nullptr, 0, MPI_BYTE, previous, tag, MPI_COMM_WORLD, &requests[1]);
  MPI_Send(nullptr, 0, MPI_DATATYPE_NULL, next, tag, MPI_COMM_WORLD);
  MPI_Isend(nullptr, 0, MPI_DATATYPE_NULL, next, tag, MPI_COMM_WORLD, &requests[2]);
  MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE);
  return 2;
}

/// Lets threads make the first calls on each of some communicators. @return the messages of a rank
int send_by_threads() {
  constexpr int communicators = 50, threads = 4, messages = 3;
  std::vector<MPI_Comm> all(communicators);
  for (MPI_Comm& comm : all)
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int ranks = size_of(MPI_COMM_WORLD), self = rank_of(MPI_COMM_WORLD);
  const int next = (self + 1) % ranks, previous = (self + ranks - 1) % ranks;
  std::barrier together(threads);
  std::vector<std::thread> workers;
  for (int own = 0; own < threads; ++own)
    workers.emplace_back([&, own] {
      for (const MPI_Comm comm : all) {
        together.arrive_and_wait();
        for (int sent = own, received = 0, i = 0; i < messages; ++i)
          MPI_Sendrecv(&sent, 1, MPI_INT, next, own, &received, 1, MPI_INT, previous, own, comm,
                       MPI_STATUS_IGNORE);
      }
    });
  for (std::thread& worker : workers)
    worker.join();
  for (MPI_Comm& comm : all)
    MPI_Comm_free(&comm);
  return communicators * threads * messages;
}

} // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "threads") {
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    const int sent = send_by_threads();
    if (rank_of(MPI_COMM_WORLD) == 0) std::printf("%d\n", sent);
    MPI_Finalize();
    return level == MPI_THREAD_MULTIPLE ? 0 : 1;
  }
  MPI_Init(&argc, &argv);
  const std::string_view wish = argc > 1 ? argv[1] : "";
  if (wish == "go" && chdir(argv[2]) != 0) return 1;
  const int functions = send_by_all_functions();
  send_on_other_communicators();
  const int empty = send_nothing();
  if (rank_of(MPI_COMM_WORLD) == 0) std::printf("%d %d\n", functions, empty);
  std::fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  if (wish == "kill" && rank_of(MPI_COMM_WORLD) == 1) std::raise(SIGKILL);
  MPI_Finalize();
}
