// What the preloaded runtime costs, measured inside a program on one host: thalweg-bench-overhead
// CASE. Prints "name value" lines on rank 0, times in nanoseconds, memory in bytes.
//
// Intercepted calls are paired with the MPI library's own, which are found in the library itself:
// blocks of both take turns.
#include "units/upper_median.hpp"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fstream>
#include <malloc.h>
#include <mpi.h>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using thalweg::upper_median;

double now_ns(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// The MPI library's own function, below anything that is preloaded.
template <class Function>
Function* own(Function*, const char* name) {
  for (const char* soname : {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12"})
    if (void* const library = dlopen(soname, RTLD_NOW | RTLD_NOLOAD))
      if (void* const found = dlsym(library, name)) return reinterpret_cast<Function*>(found);
  std::fprintf(stderr, "thalweg-bench-overhead: no %s in the MPI library\n", name);
  std::exit(1);
}

int rank = 0;

void print(const char* name, double value) {
  if (rank == 0) std::printf("%s %.1f\n", name, value);
}

/// Prints the median time of a call of each, and the median of the paired differences.
/// @param clock the processor's time of calls that wait for nobody isn't disturbed by other work
template <class Intercepted, class Native>
void compare(int blocks, int calls, const Intercepted& intercepted, const Native& native,
             clockid_t clock = CLOCK_MONOTONIC) {
  std::vector<double> first, second, differences;
  const auto time = [&](const auto& call) {
    const double begin = now_ns(clock);
    for (int i = 0; i < calls; ++i)
      call();
    return (now_ns(clock) - begin) / calls;
  };
  for (int block = 0; block < blocks; ++block) {
    // Neither goes always first.
    const bool native_first = block % 2 == 0;
    double one = native_first ? time(native) : time(intercepted);
    double other = native_first ? time(intercepted) : time(native);
    if (!native_first) std::swap(one, other);
    second.push_back(one);
    first.push_back(other);
    differences.push_back(other - one);
  }
  print("intercepted_ns", upper_median(first));
  print("native_ns", upper_median(second));
  print("difference_ns", upper_median(differences));
}

double resident_bytes() {
  long pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// Compares calls on MPI_COMM_SELF, which are native.
template <class Intercepted, class Native>
void compare_passing(const Intercepted& intercepted, const Native& native) {
  compare(201, 20000, intercepted, native, CLOCK_THREAD_CPUTIME_ID);
}

void pass_through() {
  const auto native = own(&MPI_Bcast, "PMPI_Bcast");
  long data = 0;
  compare_passing([&] { MPI_Bcast(&data, 1, MPI_LONG, 0, MPI_COMM_SELF); },
                  [&] { native(&data, 1, MPI_LONG, 0, MPI_COMM_SELF); });
}

void pass_through_barrier() {
  const auto native = own(&MPI_Barrier, "PMPI_Barrier");
  compare_passing([] { MPI_Barrier(MPI_COMM_SELF); }, [&] { native(MPI_COMM_SELF); });
}

void pass_through_in_place() {
  const auto native = own(&MPI_Allreduce, "PMPI_Allreduce");
  long data = 0;
  compare_passing([&] { MPI_Allreduce(MPI_IN_PLACE, &data, 1, MPI_LONG, MPI_MAX, MPI_COMM_SELF); },
                  [&] { native(MPI_IN_PLACE, &data, 1, MPI_LONG, MPI_MAX, MPI_COMM_SELF); });
}

/// A message to the rank itself, which is as cheap as any.
void message() {
  const auto native = own(&MPI_Sendrecv, "PMPI_Sendrecv");
  char out = 0, in = 0;
  compare(
      201, 10000,
      [&] {
        MPI_Sendrecv(&out, 1, MPI_CHAR, rank, 0, &in, 1, MPI_CHAR, rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
      },
      [&] {
        native(&out, 1, MPI_CHAR, rank, 0, &in, 1, MPI_CHAR, rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      },
      CLOCK_THREAD_CPUTIME_ID);
}

/// A barrier of two ranks, which is an exchange of one message.
void planned_call() {
  const auto exchange = own(&MPI_Sendrecv, "PMPI_Sendrecv");
  char out = 0, in = 0;
  compare(
      101, 2000, [] { MPI_Barrier(MPI_COMM_WORLD); },
      [&] {
        exchange(&out, 1, MPI_CHAR, 1 - rank, 0, &in, 1, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
      });
}

/// Communicators for a single call of 8 bytes each: without one the runtime doesn't meet them. They
/// aren't in MPI_COMM_WORLD's order, so that a run record has to look their ranks up.
void communicators() {
  const auto dup = own(&MPI_Comm_dup, "PMPI_Comm_dup");
  const auto reduce = own(&MPI_Allreduce, "PMPI_Allreduce");
  const auto free = own(&MPI_Comm_free, "PMPI_Comm_free");
  MPI_Comm reversed = MPI_COMM_NULL, comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  double value = 1, result = 0;
  compare(
      200, 500,
      [&] {
        MPI_Comm_dup(reversed, &comm);
        MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, comm);
        MPI_Comm_free(&comm);
      },
      [&] {
        dup(reversed, &comm);
        reduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, comm);
        free(&comm);
      });
  MPI_Comm_free(&reversed);
}

/// An allreduce of 8 bytes of two ranks, the smallest that a program waits for others in.
void small_call() {
  const auto native = own(&MPI_Allreduce, "PMPI_Allreduce");
  double own = 1, sum = 0;
  compare(
      201, 5000, [&] { MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); },
      [&] { native(&own, &sum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); });
}

/// What a program may do that does little else: the mean time of a call.
void allreduces() {
  constexpr int calls = 100'000;
  double sum = 1;
  const auto reduce = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const double own = sum;
      MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
  };
  reduce(calls / 100); // what every program pays once
  const double begin = now_ns();
  reduce(calls);
  print("mean_ns", (now_ns() - begin) / calls);
  print("result", sum);
}

/// The first call of a shape and the median of later ones, and the memory that it keeps.
void first_call() {
  constexpr int shapes = 32;
  std::vector<double> first, later;
  std::vector<char> in(1 << 16), out(in.size());
  const auto time = [&](int count) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_ns();
    MPI_Allreduce(in.data(), out.data(), count, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
    return now_ns() - begin;
  };
  time(999); // what every program pays once
  const auto before = static_cast<double>(mallinfo2().uordblks);
  for (int shape = 0; shape < shapes; ++shape) {
    first.push_back(time(1000 + shape));
    std::vector<double> repeated;
    for (int i = 0; i < 9; ++i)
      repeated.push_back(time(1000 + shape));
    later.push_back(upper_median(repeated));
  }
  print("first_ns", upper_median(first));
  print("later_ns", upper_median(later));
  print("bytes_per_plan", (static_cast<double>(mallinfo2().uordblks) - before) / shapes);
}

double heap_bytes() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

/// Prints by how much the heap of the rank that needs most grows with a call of 1 MiB, beyond what
/// a call of 1 KiB took. What an executor uses it keeps for later calls.
/// @param collective "bcast", "allreduce", "allgather" or "alltoall": 1 MiB of a vector, or of all
/// blocks together
void temporary(const std::string& collective) {
  constexpr int most = 1 << 20;
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<char> in(most), out(most);
  const auto call = [&](int size) {
    const int block = size / ranks;
    if (collective == "bcast")
      MPI_Bcast(in.data(), size, MPI_CHAR, 0, MPI_COMM_WORLD);
    else if (collective == "allreduce")
      MPI_Allreduce(in.data(), out.data(), size, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
    else if (collective == "allgather")
      MPI_Allgather(in.data(), block, MPI_CHAR, out.data(), block, MPI_CHAR, MPI_COMM_WORLD);
    else
      MPI_Alltoall(in.data(), block, MPI_CHAR, out.data(), block, MPI_CHAR, MPI_COMM_WORLD);
  };
  call(1024);
  const double before = heap_bytes();
  call(most);
  const double grown = heap_bytes() - before;
  double largest = 0;
  PMPI_Reduce(&grown, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  print("temporary_bytes", largest);
}

} // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  const double begin = now_ns();
  MPI_Init(&argc, &argv);
  const double init = now_ns() - begin;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (wanted == "init") {
    double longest = 0;
    PMPI_Reduce(&init, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    print("init_ns", longest);
    print("resident_bytes", resident_bytes());
  } else if (wanted == "pass-through") {
    pass_through();
  } else if (wanted == "pass-through-barrier") {
    pass_through_barrier();
  } else if (wanted == "pass-through-in-place") {
    pass_through_in_place();
  } else if (wanted == "message") {
    message();
  } else if (wanted == "planned-call") {
    planned_call();
  } else if (wanted == "communicators") {
    communicators();
  } else if (wanted == "small-call") {
    small_call();
  } else if (wanted == "allreduces") {
    allreduces();
  } else if (wanted == "first-call") {
    first_call();
  } else if (wanted == "temporary" && argc > 2) {
    temporary(argv[2]);
  } else {
    std::fprintf(stderr, "usage: thalweg-bench-overhead init|pass-through|pass-through-barrier|"
                         "pass-through-in-place|message|planned-call|communicators|small-call|"
                         "allreduces|first-call|temporary COLLECTIVE\n");
    return 2;
  }
  MPI_Finalize();
  return 0;
}
