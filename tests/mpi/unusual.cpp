// What few programs do, though MPI allows it: unusual CASE. Each call has the result that MPI
// defines, planned or not.
#include "check.hpp"
#include "layouts.hpp"

#include <algorithm>
#include <array>
#include <cfenv>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <memory>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace thalweg::test {
namespace {

const MPI_Comm world = MPI_COMM_WORLD;
constexpr int rounds = 20;

void check_sum(MPI_Comm comm) {
  const int size = size_of(comm), own = rank_of(comm) + 1;
  int sum = 0;
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm);
  check(sum == size * (size + 1) / 2, "allreduce");
}

void check_bcast(MPI_Comm comm, int root, int count = 1000) {
  std::vector<int> data(static_cast<std::size_t>(count), rank_of(comm) == root ? root : -1);
  MPI_Bcast(data.data(), count, MPI_INT, root, comm);
  check(data == std::vector<int>(data.size(), root), "bcast");
}

/// Ints where they are, in two blocks, so that the type isn't contiguous.
class Absolute : public AtAddresses {
public:
  explicit Absolute(const std::vector<int>& data)
      : AtAddresses(MPI_INT, {{data.data(), std::ssize(data) / 2},
                              {data.data() + std::ssize(data) / 2,
                               std::ssize(data) - std::ssize(data) / 2}}) {}
};

#if defined(OPEN_MPI) && defined(MAP_32BIT)
/// Rank 0's data lie where displacements of a predefined type reach them from MPI_BOTTOM.
void low_addresses() {
  const int rank = rank_of(world), size = size_of(world);
  const auto all = static_cast<std::size_t>(size);
  void* const low =
      mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  check(low != MAP_FAILED, "memory below 2 GiB");
  std::vector<char> out(all, static_cast<char>(rank)), in(all, -1);
  char* const got = rank == 0 ? static_cast<char*>(low) : in.data();
  std::vector<int> ones(all, 1), places, from;
  for (int other = 0; other < size; ++other) {
    places.push_back(other);
    from.push_back(other +
                   (rank == 0 ? static_cast<int>(reinterpret_cast<std::intptr_t>(low)) : 0));
  }
  MPI_Alltoallv(out.data(), ones.data(), places.data(), MPI_BYTE,
                rank == 0 ? MPI_BOTTOM : in.data(), ones.data(), from.data(), MPI_BYTE, world);
  for (int other = 0; other < size; ++other)
    check(got[other] == static_cast<char>(other), "alltoallv to low addresses");
  munmap(low, all);
}
#endif

/// Data at MPI_BOTTOM, on either side and on both.
void absolute() {
  const int rank = rank_of(world), size = size_of(world);
  constexpr int count = 6;
  const auto all = static_cast<std::size_t>(size * count);
  std::vector<int> expected;
  for (std::size_t i = 0; i < all; ++i)
    expected.push_back(static_cast<int>(i));
  for (int root = 0; root < size; ++root) {
    std::vector<int> own(expected.begin() + rank * count, expected.begin() + (rank + 1) * count);
    std::vector<int> data = rank == root ? expected : std::vector<int>(all, -1), back(count, -1);
    const Absolute of_own(own), of_data(data), of_back(back);
    MPI_Bcast(MPI_BOTTOM, 1, of_data.type(), root, world);
    check(data == expected, "bcast");
    data.assign(all, -1);
    MPI_Gather(MPI_BOTTOM, 1, of_own.type(), data.data(), count, MPI_INT, root, world);
    check(rank != root || data == expected, "gather");
    MPI_Scatter(data.data(), count, MPI_INT, MPI_BOTTOM, 1, of_back.type(), root, world);
    check(back == own, "scatter");
    std::fill(data.begin(), data.end(), -1);
    MPI_Allgather(MPI_BOTTOM, 1, of_own.type(), data.data(), count, MPI_INT, world);
    check(data == expected, "allgather");
  }
  // Each block has a type of its own, which says where it is.
  std::vector<std::vector<int>> out, in;
  std::vector<std::unique_ptr<Absolute>> types;
  std::vector<MPI_Datatype> out_types, in_types;
  for (int other = 0; other < size; ++other) {
    out.emplace_back(count, 100 * rank + other);
    in.emplace_back(count, -1);
  }
  for (auto [blocks, list] : {std::pair(&out, &out_types), std::pair(&in, &in_types)})
    for (const std::vector<int>& block : *blocks)
      list->push_back(types.emplace_back(std::make_unique<Absolute>(block))->type());
  const std::vector<int> ones(out.size(), 1), zeros(out.size(), 0);
  MPI_Alltoallw(MPI_BOTTOM, ones.data(), zeros.data(), out_types.data(), MPI_BOTTOM, ones.data(),
                zeros.data(), in_types.data(), world);
  for (int other = 0; other < size; ++other)
    check(in[static_cast<std::size_t>(other)] == std::vector<int>(count, 100 * other + rank),
          "alltoallw");
#if defined(OPEN_MPI) && defined(MAP_32BIT) // MPICH wants a type of the program's with MPI_BOTTOM.
  low_addresses();
#endif
}

/// One rank sends every second element of an array and receives the others, where the ranks
/// around it have two arrays.
void check_interleaved(int one) {
  const int rank = rank_of(world), size = size_of(world), second = 1;
  const auto all = static_cast<std::size_t>(size);
  MPI_Datatype even = MPI_DATATYPE_NULL, at_second = MPI_DATATYPE_NULL, odd = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, 2 * MPI_Aint{sizeof(int)}, &even);
  MPI_Type_create_indexed_block(1, 1, &second, MPI_INT, &at_second);
  MPI_Type_create_resized(at_second, 0, 2 * MPI_Aint{sizeof(int)}, &odd);
  for (MPI_Datatype* type : {&even, &odd})
    MPI_Type_commit(type);
  std::vector<int> both(2 * all, -1), out(all), in(all, -1), wanted(all);
  for (std::size_t i = 0; i < all; ++i) {
    out[i] = both[2 * i] = 100 * rank + static_cast<int>(i);
    wanted[i] = 100 * static_cast<int>(i) + rank;
  }
  if (rank == one)
    MPI_Alltoall(both.data(), 1, even, both.data(), 1, odd, world);
  else
    MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, world);
  for (std::size_t i = 0; rank == one && i < all; ++i)
    in[i] = both[2 * i + 1];
  check(in == wanted, "alltoall of interleaved elements");
  for (MPI_Datatype* type : {&even, &at_second, &odd})
    MPI_Type_free(type);
}

/// Extents that repeat one element, that go backwards, and that leave room for others.
void extents() {
  const int rank = rank_of(world), size = size_of(world);
  MPI_Datatype again = MPI_DATATYPE_NULL, backwards = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, 0, &again);
  MPI_Type_create_resized(MPI_INT, 0, -MPI_Aint{sizeof(int)}, &backwards);
  MPI_Type_commit(&again);
  MPI_Type_commit(&backwards);
  std::vector<int> ranks;
  for (int i = 0; i < size; ++i)
    ranks.push_back(i);
  const std::vector<int> reversed(ranks.rbegin(), ranks.rend());
  for (int root = 0; root < size; ++root) {
    const int own = 10 + rank, from_root = 10 + root;
    int got = -1;
    MPI_Scatter(&own, 1, again, &got, 1, MPI_INT, root, world);
    check(got == from_root, "scatter of one element to all");
    std::vector<int> all(2 * ranks.size(), -1), expected;
    for (int i = 0; i < 2 * size; ++i)
      expected.push_back(10 + i / 2);
    MPI_Alltoall(&own, 2, again, all.data(), 2, MPI_INT, world);
    check(all == expected, "alltoall of one element to all");
    check_interleaved(root);
    all.assign(ranks.size(), -1);
    int* const last = all.data() + size - 1;
    MPI_Allgather(&rank, 1, MPI_INT, last, 1, backwards, world);
    check(all == reversed, "allgather backwards");
    all.assign(ranks.size(), -1);
    MPI_Gather(&rank, 1, MPI_INT, last, 1, backwards, root, world);
    check(rank != root || all == reversed, "gather backwards");
    all.assign(ranks.size(), -1);
    if (rank == root) std::copy(ranks.begin(), ranks.end(), all.begin());
    MPI_Bcast(last, size, backwards, root, world);
    check(all == ranks, "bcast backwards");
  }
  MPI_Type_free(&again);
  MPI_Type_free(&backwards);
}

/// Types that were made with large counts, where the library can: of some releases another function
/// than usual says how they were made.
void large_counts() {
#if MPI_VERSION >= 4
  constexpr int count = 1000;
  MPI_Datatype row = MPI_DATATYPE_NULL, columns = MPI_DATATYPE_NULL, same = MPI_DATATYPE_NULL;
  MPI_Type_contiguous_c(count, MPI_INT, &row);
  MPI_Type_vector_c(count, 1, 2, MPI_INT, &columns);
  MPI_Type_dup(row, &same);
  for (MPI_Datatype* type : {&row, &columns, &same})
    MPI_Type_commit(type);
  const int size = size_of(world), rank = rank_of(world);
  for (int round = 0; round < rounds; ++round) {
    const int root = round % size;
    for (MPI_Datatype type : {row, same}) {
      std::vector<int> data(count, rank == root ? root : -1);
      MPI_Bcast(data.data(), 1, type, root, world);
      check(data == std::vector<int>(count, root), "bcast of a contiguous type");
    }
    std::vector<int> every_second(2 * count, rank == root ? root : -1);
    MPI_Bcast(every_second.data(), 1, columns, root, world);
    check(every_second[2] == root && (rank == root || every_second[1] == -1), "bcast of a vector");
  }
  for (MPI_Datatype* type : {&row, &columns, &same})
    MPI_Type_free(type);
#endif
}

/// Types derived from Fortran's real types of a precision, which can't be freed.
void fortran_kinds() {
  MPI_Datatype real = MPI_DATATYPE_NULL;
  MPI_Type_create_f90_real(15, MPI_UNDEFINED, &real);
  for (int round = 0; round < rounds; ++round) {
    MPI_Datatype three = MPI_DATATYPE_NULL, same = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(3, real, &three);
    MPI_Type_dup(real, &same);
    MPI_Type_commit(&three);
    const int root = round % size_of(world);
    for (const auto& [type, count] :
         {std::pair(real, 6), std::pair(same, 6), std::pair(three, 2)}) {
      std::vector<double> data(6, rank_of(world) == root ? root : -1);
      MPI_Bcast(data.data(), count, type, root, world);
      check(data == std::vector<double>(6, root), "bcast of a real type");
    }
    MPI_Type_free(&three);
    MPI_Type_free(&same);
  }
}

std::jmp_buf before_the_call;
void jump(MPI_Comm*, int*, ...) { std::longjmp(before_the_call, 1); }
void raise_exception(MPI_Comm*, int*, ...) { throw 5; }

/// Calls from a frame that keeps what calls before it left on the stack.
[[gnu::noinline]] void check_sum_below(MPI_Comm comm) {
  volatile char untouched[4096];
  untouched[0] = 0;
  check_sum(comm);
  check(untouched[0] == 0, "a frame is its own");
}

/// Error handlers leave the call by longjmp and by an exception, and later calls are as ever.
void handlers() {
  std::array<MPI_Errhandler, 2> handlers{};
  MPI_Comm_create_errhandler(jump, &handlers[0]);
  MPI_Comm_create_errhandler(raise_exception, &handlers[1]);
  int data = 0;
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm_set_errhandler(world, handlers[0]);
    const bool is_turn = round % size_of(world) == rank_of(world);
    volatile bool jumped = false;
    if (setjmp(before_the_call) == 0)
      MPI_Bcast(&data, 1, MPI_INT, size_of(world), world);
    else
      jumped = true;
    if (is_turn)
      check_sum_below(world);
    else
      check_sum(world);
    check(jumped, "the handler jumps");
    MPI_Comm_set_errhandler(world, handlers[1]);
    bool caught = false;
    try {
      MPI_Allreduce(&data, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, world);
    } catch (int) {
      caught = true;
    }
    check(caught, "the handler's exception arrives");
    check_bcast(world, round % size_of(world));
  }
  MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
  for (MPI_Errhandler& handler : handlers)
    MPI_Errhandler_free(&handler);
}

int errors_raised = 0;
void count_error(MPI_Comm*, int*, ...) { ++errors_raised; }

/// A call without a communicator raises one error, whichever communicator's handler is told of it.
void no_communicator() {
  MPI_Errhandler handler{};
  MPI_Comm_create_errhandler(count_error, &handler);
  for (const MPI_Comm comm : {world, MPI_COMM_SELF})
    MPI_Comm_set_errhandler(comm, handler);
  for (int round = 0; round < rounds; ++round) {
    const int own = 1;
    int sum = 0;
    errors_raised = 0;
    // MPICH 5.0 returns MPI_SUCCESS nevertheless.
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL);
    check(errors_raised == 1, "one error");
    check_sum(world);
  }
  for (const MPI_Comm comm : {world, MPI_COMM_SELF})
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
}

int sum_at_end(MPI_Comm comm, int, void*, void*) {
  check_sum(comm);
  return MPI_SUCCESS;
}

/// The program's callback makes calls on the communicator that is being freed.
void callbacks() {
  for (int round = 0; round < 3 * rounds; ++round) {
    int keyval = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, sum_at_end, &keyval, nullptr);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(world, &comm);
    // Before ours, and after.
    if (round % 2 == 0) MPI_Comm_set_attr(comm, keyval, nullptr);
    check_sum(comm);
    if (round % 2 != 0) MPI_Comm_set_attr(comm, keyval, nullptr);
    check_bcast(comm, 0);
    MPI_Comm_free(&comm);
    MPI_Comm_free_keyval(&keyval);
  }
}

void* call_all(void*) {
  const auto all = static_cast<std::size_t>(size_of(world));
  for (int round = 0; round < rounds; ++round) {
    check_sum(world);
    check_bcast(world, round % size_of(world));
    std::vector<int> in(all, rank_of(world)), out(all);
    MPI_Alltoall(in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, world);
    check(std::ranges::is_sorted(out), "alltoall");
  }
  return nullptr;
}

/// A thread other than the first calls, with a stack of 256 KiB.
void small_stack() {
  pthread_attr_t attributes{};
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{256} << 10);
  pthread_t thread{};
  check(pthread_create(&thread, &attributes, call_all, nullptr) == 0, "a thread starts");
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

void ignore(int) {}

/// Signals interrupt calls all the time, and the process starts others.
void signals() {
  struct sigaction action {};
  action.sa_handler = ignore;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often{{0, 500}, {0, 500}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  for (int round = 0; round < 5 * rounds; ++round) {
    check_sum(world);
    check_bcast(world, round % size_of(world));
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  for (int round = 0; round < 3; ++round) {
    const pid_t child = fork();
    if (child == 0) _exit(3);
    int status = 0;
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 3, "the child ends by itself");
    check_sum(world);
  }
}

/// Makes so many calls of neighbours on a ring that a plan for them is looked for. They raise
/// nothing, inexactness included.
void neighbor_calls() {
  const int size = size_of(world), periodic = 1;
  MPI_Comm ring{};
  MPI_Cart_create(world, 1, &size, &periodic, 0, &ring);
  std::array<int, 2> from{};
  const int own = rank_of(ring);
  std::feclearexcept(FE_ALL_EXCEPT);
  for (int round = 0; round < 400; ++round)
    MPI_Neighbor_allgather(&own, 1, MPI_INT, from.data(), 1, MPI_INT, ring);
  check(std::fetestexcept(FE_ALL_EXCEPT) == 0, "calls of neighbours raise nothing");
  check(from[0] == (own + size - 1) % size && from[1] == (own + 1) % size, "neighbours' data");
  MPI_Comm_free(&ring);
}

/// Calls leave the program's floating-point environment alone, which differs between ranks, and
/// raise nothing in it.
void exceptions() {
  constexpr int serious = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;
  const int rounding = rank_of(world) % 2 == 0 ? FE_TONEAREST : FE_UPWARD;
  const auto call = [&](MPI_Comm comm) {
    check_sum(comm);
    check_bcast(comm, size_of(comm) - 1);
    check(std::fegetround() == rounding, "calls don't change the way of rounding");
    check(std::fetestexcept(FE_ALL_EXCEPT) == 0, "calls raise nothing");
  };
  std::fesetround(rounding);
  std::feclearexcept(FE_ALL_EXCEPT);
  for (int round = 0; round < rounds; ++round)
    call(world);
  check(feenableexcept(serious) == 0, "calls don't trap");
  MPI_Comm half{};
  MPI_Comm_split(world, rank_of(world) % 2, 0, &half);
  for (int round = 0; round < 3 * rounds; ++round) {
    call(half);
    call(world);
  }
  MPI_Comm_free(&half);
  neighbor_calls();
  check(fegetexcept() == serious, "calls leave traps as they are");
}

} // namespace
} // namespace thalweg::test

int main(int argc, char** argv) {
  using namespace thalweg::test;
  const Cases cases = {{"absolute", absolute},         {"extents", extents},
                       {"handlers", handlers},         {"callbacks", callbacks},
                       {"signals", signals},           {"small-stack", small_stack},
                       {"large-counts", large_counts}, {"fortran-kinds", fortran_kinds},
                       {"exceptions", exceptions},     {"no-communicator", no_communicator}};
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  run_case(cases, argc > 1 ? argv[1] : "");
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
