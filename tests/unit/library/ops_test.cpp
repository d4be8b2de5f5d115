#include "runtime/mpi/ops.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <doctest/doctest.h>
#include <thread>
#include <vector>

namespace thalweg::runtime {

Native native;

namespace {

std::array<char, 6> objects; ///< whose addresses are handles

template <class Handle>
Handle handle(std::size_t number) {
  return reinterpret_cast<Handle>(&objects[number]);
}

std::atomic<int> asked, inside;
std::atomic<bool> overlapped;

int true_extent(MPI_Datatype /*type*/, MPI_Aint* lower, MPI_Aint* extent) {
  *lower = 0;
  *extent = 8;
  return MPI_SUCCESS;
}

/// Gives another thread the time to come in, too.
int allreduce(const void* /*in*/, void* /*out*/, int /*count*/, MPI_Datatype /*type*/,
              MPI_Op /*op*/, MPI_Comm /*comm*/) {
  ++asked;
  ++inside;
  for (int i = 0; i < 100 && !overlapped; ++i) {
    if (inside > 1) overlapped = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  --inside;
  return MPI_SUCCESS;
}

} // namespace

TEST_CASE("threads ask the MPI library about operations one after the other, and once") {
  native.Type_get_true_extent = true_extent;
  native.Allreduce = allreduce;
  native.op_null = handle<MPI_Op>(0);
  native.replace = native.no_op = handle<MPI_Op>(1);
  native.sum = handle<MPI_Op>(2);
  std::vector<std::thread> threads;
  for (const std::size_t type : {3, 4, 5, 3})
    threads.emplace_back([type] {
      CHECK(may_reduce(native.sum, handle<MPI_Datatype>(type), true, handle<MPI_Comm>(0)));
    });
  for (std::thread& thread : threads)
    thread.join();
  CHECK_FALSE(overlapped);
  CHECK(asked == 3);
}

} // namespace thalweg::runtime
