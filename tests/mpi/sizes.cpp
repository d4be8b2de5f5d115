// Makes calls whose size takes some work to know, each of 24 bytes: in place, or with blocks of
// different lengths. Each is on a communicator of its own, which isn't set up by then. Then come
// calls across an intercommunicator of ranks 0, 1 and 2, 3; and one on MPI_COMM_SELF. With "world"
// there are only those in place, each on MPI_COMM_WORLD, and a barrier.

#include "check.hpp"

#include <functional>

using namespace thalweg::test;

namespace {

constexpr int count = 3; // doubles

/// Buffers and arrays for the calls on a communicator, or across it.
struct Data {
  explicit Data(int ranks)
      : in(all(ranks)), out(all(ranks)), equal(at(ranks), count), different(equal) {
    for (int i = 0; i < ranks; ++i)
      places.push_back(2 * count * i);
    // Their mean is `count`.
    different.front() = 1;
    different.back() = 2 * count - 1;
  }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static std::size_t all(int ranks) { return 2 * count * at(ranks); }
  std::vector<double> in, out;
  std::vector<int> equal, different, places;
};

/// @param make gets each of the calls, which takes a communicator
template <class Make>
void in_place(const Make& make) {
  Data data(size_of(MPI_COMM_WORLD));
  double* const out = data.out.data();
  const bool is_root = rank_of(MPI_COMM_WORLD) == 0;
  const std::vector<std::function<void(MPI_Comm)>> calls = {
      [&](MPI_Comm it) { MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_DOUBLE, MPI_SUM, it); },
      [&](MPI_Comm it) { MPI_Scan(MPI_IN_PLACE, out, count, MPI_DOUBLE, MPI_SUM, it); },
      [&](MPI_Comm it) { MPI_Exscan(MPI_IN_PLACE, out, count, MPI_DOUBLE, MPI_SUM, it); },
      [&](MPI_Comm it) {
        MPI_Reduce(is_root ? MPI_IN_PLACE : out, out, count, MPI_DOUBLE, MPI_SUM, 0, it);
      },
      [&](MPI_Comm it) {
        MPI_Reduce_scatter_block(MPI_IN_PLACE, out, count, MPI_DOUBLE, MPI_SUM, it);
      },
      [&](MPI_Comm it) { MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, out, count, MPI_DOUBLE, it); },
      [&](MPI_Comm it) { MPI_Alltoall(MPI_IN_PLACE, 0, MPI_BYTE, out, count, MPI_DOUBLE, it); },
      [&](MPI_Comm it) {
        MPI_Gather(is_root ? MPI_IN_PLACE : out, count, MPI_DOUBLE, out, count, MPI_DOUBLE, 0, it);
      },
      [&](MPI_Comm it) {
        void* const own = data.in.data();
        MPI_Scatter(out, count, MPI_DOUBLE, is_root ? MPI_IN_PLACE : own, count, MPI_DOUBLE, 0, it);
      },
  };
  for (const auto& call : calls)
    make(call);
}

void in_place_on_world() {
  in_place([](const auto& call) { call(MPI_COMM_WORLD); });
  MPI_Barrier(MPI_COMM_WORLD);
}

void in_place_on_others() {
  in_place([](const auto& call) {
    MPI_Comm fresh = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
    call(fresh);
    MPI_Comm_free(&fresh);
  });
}

/// @param blocks the ranks that a rank has blocks for
/// @param root is MPI_ROOT at the root, across an intercommunicator
void gather_and_scatter(MPI_Comm gathered, MPI_Comm scattered, int blocks, int root) {
  Data data(blocks);
  // What the root across an intercommunicator gives for this side, MPI doesn't look at.
  const bool is_significant = root != MPI_ROOT;
  const MPI_Datatype own = is_significant ? MPI_DOUBLE : MPI_Datatype{};
  void* const in = is_significant ? data.in.data() : nullptr;
  void* const out = is_significant ? data.out.data() : nullptr;
  MPI_Gatherv(in, count, own, data.out.data(), data.equal.data(), data.places.data(), MPI_DOUBLE,
              root, gathered);
  MPI_Scatterv(data.in.data(), data.equal.data(), data.places.data(), MPI_DOUBLE, out, count, own,
               root, scattered);
}

/// @param own of the rank's blocks for each other, and of others' for it, in an allgatherv
void uneven(const std::function<MPI_Comm()>& fresh, int blocks, int own) {
  Data data(blocks);
  MPI_Allgatherv(data.in.data(), own, MPI_DOUBLE, data.out.data(), data.different.data(),
                 data.places.data(), MPI_DOUBLE, fresh());
  const std::vector<int> received(data.equal.size(), own);
  MPI_Alltoallv(data.in.data(), data.different.data(), data.places.data(), MPI_DOUBLE,
                data.out.data(), received.data(), data.places.data(), MPI_DOUBLE, fresh());
  std::vector<int> at;
  for (const int place : data.places)
    at.push_back(place * static_cast<int>(sizeof(double)));
  const std::vector<MPI_Datatype> types(at.size(), MPI_DOUBLE);
  MPI_Alltoallw(data.in.data(), data.different.data(), at.data(), types.data(), data.out.data(),
                received.data(), at.data(), types.data(), fresh());
  MPI_Reduce_scatter(data.in.data(), data.out.data(), data.different.data(), MPI_DOUBLE, MPI_SUM,
                     fresh());
}

/// Returns how many doubles Data::different has for a rank.
int different_of(int rank, int ranks) { return Data(ranks).different[Data::at(rank)]; }

void uneven() {
  const int ranks = size_of(MPI_COMM_WORLD), rank = rank_of(MPI_COMM_WORLD);
  std::vector<MPI_Comm> made;
  const auto fresh = [&] {
    MPI_Comm_dup(MPI_COMM_WORLD, &made.emplace_back());
    return made.back();
  };
  uneven(fresh, ranks, different_of(rank, ranks));
  const MPI_Comm gathered = fresh();
  gather_and_scatter(gathered, fresh(), ranks, 1);
  for (MPI_Comm& comm : made)
    MPI_Comm_free(&comm);
}

void across() {
  const int rank = rank_of(MPI_COMM_WORLD), side = rank / 2;
  MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < 4 ? side : MPI_UNDEFINED, rank, &half);
  if (half == MPI_COMM_NULL) return;
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side == 0 ? 2 : 0, 1, &inter);
  uneven([&] { return inter; }, 2, different_of(rank_of(half), 2));
  if (rank != 1) // where nothing has a size
    gather_and_scatter(inter, inter, 2, side == 1 ? 0 : MPI_ROOT);
  else
    gather_and_scatter(inter, inter, 2, MPI_PROC_NULL);
  double data[count] = {}, sum[count] = {};
  MPI_Allreduce(data, sum, count, MPI_DOUBLE, MPI_SUM, inter);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

} // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1) {
    in_place_on_world();
    MPI_Finalize();
    return 0;
  }
  in_place_on_others();
  uneven();
  across();
  double own[count] = {};
  MPI_Allreduce(MPI_IN_PLACE, own, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
  MPI_Finalize();
}
