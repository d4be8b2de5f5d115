// Accesses other ranks' memory by every function that does: each rank once to each rank, itself
// included, 1 + 3 · from + to doubles, or one where a function takes no number. Rank 0 prints how
// many functions write so many, read so many, write one, and read one; and how often each rank puts
// nothing of no type into each rank's memory, if the library takes that. The windows are those of
// COMM_WORLD and of a communicator in which the last rank comes first.

#include "check.hpp"

#include <vector>

using namespace thalweg::test;

namespace {

struct Functions {
  int write = 0, read = 0, write_one = 0, read_one = 0;
};

/// An access to `count` doubles of a rank of the window.
struct Access {
  int count, to;
  bool own;
  MPI_Win window;
  std::vector<double> data{}, result{};
};

template <class Body>
void access_all(MPI_Comm comm, bool reversed, const Body& body) {
  const int ranks = size_of(comm), self = rank_of(MPI_COMM_WORLD);
  std::vector<double> memory(static_cast<std::size_t>(4 * ranks) + 1);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size() * sizeof(double)),
                 sizeof(double), MPI_INFO_NULL, comm, &window);
  for (int to = 0; to < ranks; ++to) {
    const int world = reversed ? ranks - 1 - to : to;
    Access access{.count = 1 + 3 * self + world, .to = to, .own = world == self, .window = window};
    access.data.resize(memory.size());
    access.result.resize(memory.size());
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, window);
    body(access);
    MPI_Win_unlock(to, window);
  }
  MPI_Win_free(&window);
}

Functions access_by_all_functions(MPI_Comm comm, bool reversed) {
  Functions functions;
  const auto by = [&](const auto& body) { access_all(comm, reversed, body); };
  const auto finish = [](MPI_Request request) { MPI_Wait(&request, MPI_STATUS_IGNORE); };
  by([](Access& a) {
    MPI_Put(a.data.data(), a.count, MPI_DOUBLE, a.to, 0, a.count, MPI_DOUBLE, a.window);
    MPI_Put(a.data.data(), a.count, MPI_DOUBLE, MPI_PROC_NULL, 0, a.count, MPI_DOUBLE, a.window);
  });
  by([](Access& a) {
    MPI_Accumulate(a.data.data(), a.count, MPI_DOUBLE, a.to, 0, a.count, MPI_DOUBLE, MPI_SUM,
                   a.window);
  });
  by([](Access& a) {
    MPI_Get(a.data.data(), a.count, MPI_DOUBLE, a.to, 0, a.count, MPI_DOUBLE, a.window);
  });
  by([](Access& a) {
    MPI_Get_accumulate(a.data.data(), a.count, MPI_DOUBLE, a.result.data(), a.count, MPI_DOUBLE,
                       a.to, 0, a.count, MPI_DOUBLE, MPI_SUM, a.window);
  });
  by([&](Access& a) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Rput(a.data.data(), a.count, MPI_DOUBLE, a.to, 0, a.count, MPI_DOUBLE, a.window, &request);
    finish(request);
  });
  by([&](Access& a) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Rget(a.data.data(), a.count, MPI_DOUBLE, a.to, 0, a.count, MPI_DOUBLE, a.window, &request);
    finish(request);
  });
  by([&](Access& a) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Raccumulate(a.data.data(), a.count, MPI_DOUBLE, a.to, 0, a.count, MPI_DOUBLE, MPI_SUM,
                    a.window, &request);
    finish(request);
  });
  by([&](Access& a) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Rget_accumulate(a.data.data(), a.count, MPI_DOUBLE, a.result.data(), a.count, MPI_DOUBLE,
                        a.to, 0, a.count, MPI_DOUBLE, MPI_NO_OP, a.window, &request);
    finish(request);
  });
  functions.write += 5; // Put, Accumulate, Get_accumulate, Rput, Raccumulate
  functions.read += 4;  // Get, Get_accumulate, Rget, Rget_accumulate
  by([](Access& a) {
    MPI_Fetch_and_op(a.data.data(), a.result.data(), MPI_DOUBLE, a.to, 0, MPI_SUM, a.window);
  });
  by([](Access& a) {
    const long compared = 0;
    // Open MPI 4.1 crashes where a process compares and swaps in its own memory.
    if (a.own)
      MPI_Fetch_and_op(a.data.data(), a.result.data(), MPI_DOUBLE, a.to, 0, MPI_SUM, a.window);
    else
      MPI_Compare_and_swap(a.data.data(), &compared, a.result.data(), MPI_LONG, a.to, 0, a.window);
  });
  functions.write_one += 2;
  functions.read_one += 2;
#if MPI_VERSION >= 4
  by([](Access& a) {
    MPI_Put_c(a.data.data(), a.count, MPI_DOUBLE, a.to, 0, a.count, MPI_DOUBLE, a.window);
  });
  by([](Access& a) {
    MPI_Get_c(a.data.data(), a.count, MPI_DOUBLE, a.to, 0, a.count, MPI_DOUBLE, a.window);
  });
  ++functions.write, ++functions.read;
#endif
  return functions;
}

/// Puts nothing of no type, where the library takes that. @return the accesses to each rank
int put_nothing() {
  int accesses = 0;
  access_all(MPI_COMM_WORLD, false, [&](const Access& a) {
    MPI_Win_set_errhandler(a.window, MPI_ERRORS_RETURN);
    const int code =
        MPI_Put(nullptr, 0, MPI_DATATYPE_NULL, a.to, 0, 0, MPI_DATATYPE_NULL, a.window);
    accesses = code == MPI_SUCCESS ? 1 : 0;
  });
  return accesses;
}

} // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of(MPI_COMM_WORLD), &reversed);
  access_by_all_functions(MPI_COMM_WORLD, false);
  const Functions each = access_by_all_functions(reversed, true);
  MPI_Comm_free(&reversed);
  const int empty = put_nothing();
  if (rank_of(MPI_COMM_WORLD) == 0)
    std::printf("%d %d %d %d %d\n", 2 * each.write, 2 * each.read, 2 * each.write_one,
                2 * each.read_one, empty);
  MPI_Finalize();
}
