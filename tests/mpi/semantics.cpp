// What planned collectives must share with the MPI library's own besides results: semantics CASE
#include "check.hpp"
#include "reductions.hpp"

#include <atomic>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

namespace thalweg::test {
namespace {

void check_allreduce(MPI_Comm comm, int count = 100) {
  std::vector<int> in(static_cast<std::size_t>(count), rank_of(comm) + 1), out(in.size());
  MPI_Allreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, comm);
  const int size = size_of(comm);
  check(out == std::vector<int>(in.size(), size * (size + 1) / 2), "allreduce");
}

void check_bcast(MPI_Comm comm, int root, int count = 100) {
  std::vector<int> data(static_cast<std::size_t>(count), rank_of(comm) == root ? 42 + root : -1);
  MPI_Bcast(data.data(), count, MPI_INT, root, comm);
  check(data == std::vector<int>(data.size(), 42 + root), "bcast");
}

void check_alltoall(MPI_Comm comm, int count) {
  const int size = size_of(comm), rank = rank_of(comm);
  std::vector<int> in, out(static_cast<std::size_t>(size * count)), expected;
  for (int i = 0; i < size * count; ++i) {
    in.push_back(rank * 10 + i / count);
    expected.push_back(i / count * 10 + rank);
  }
  MPI_Alltoall(in.data(), count, MPI_INT, out.data(), count, MPI_INT, comm);
  check(out == expected, "alltoall");
}

std::atomic<int> handled{0};
void count_errors(MPI_Comm*, int*, ...) { ++handled; }

/// Erroneous calls, the same on all ranks: each raises one error, and later calls work.
void errors() {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(count_errors, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  int in[4] = {}, out[4] = {};
  double real[2] = {}, real_out[2] = {};
  const std::vector<std::pair<const char*, std::function<int()>>> calls = {
    {"negative count", [&] { return MPI_Bcast(in, -1, MPI_INT, 0, MPI_COMM_WORLD); }},
    {"no datatype", [&] { return MPI_Bcast(in, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD); }},
    {"no such root",
     [&] { return MPI_Bcast(in, 1, MPI_INT, size_of(MPI_COMM_WORLD), MPI_COMM_WORLD); }},
    {"negative root", [&] { return MPI_Bcast(in, 1, MPI_INT, -7, MPI_COMM_WORLD); }},
#if defined(OPEN_MPI) // MPICH 4.0 crashes on it, with or without us
    {"negative count",
     [&] { return MPI_Allreduce(in, out, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }},
#endif
    {"no operation",
     [&] { return MPI_Allreduce(in, out, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD); }},
    {"bits of doubles",
     [&] { return MPI_Allreduce(real, real_out, 2, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD); }},
    {"result in place",
     [&] { return MPI_Allreduce(in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }},
    {"no such root of a gather",
     [&] { return MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, 77, MPI_COMM_WORLD); }},
    {"no datatype to send",
     [&] { return MPI_Allgather(in, 1, MPI_DATATYPE_NULL, out, 1, MPI_INT, MPI_COMM_WORLD); }},
    {"negative count of an alltoall",
     [&] { return MPI_Alltoall(in, 1, MPI_INT, out, -1, MPI_INT, MPI_COMM_WORLD); }},
    {"no operation of a scan",
     [&] { return MPI_Scan(in, out, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD); }},
  };
  for (const auto& [name, call] : calls) {
    const int before = handled;
    check(call() != MPI_SUCCESS, std::string(name) + " returns an error");
    check(handled == before + 1, std::string(name) + " is handled once");
    check_allreduce(MPI_COMM_WORLD);
  }
  MPI_Errhandler_free(&handler);
}

/// A gatherv of i + 1 ints from each rank i, in descending order, and back by a scatterv. Arrays
/// that mean nothing on a rank are null there.
void gather_and_scatter_by_counts() {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int rank = rank_of(comm), size = size_of(comm), root = size / 2;
  std::vector<int> counts, places, expected;
  for (int i = 0; i < size; ++i) {
    counts.push_back(i + 1);
    places.push_back((size * (size + 1) - (i + 1) * (i + 2)) / 2);
    expected.insert(expected.begin(), static_cast<std::size_t>(i + 1), i);
  }
  const bool is_root = rank == root;
  const std::vector<int> own(static_cast<std::size_t>(rank) + 1, rank);
  std::vector<int> all(is_root ? expected.size() : 0), back(own.size(), -1);
  MPI_Gatherv(own.data(), rank + 1, MPI_INT, is_root ? all.data() : nullptr,
              is_root ? counts.data() : nullptr, is_root ? places.data() : nullptr, MPI_INT, root,
              comm);
  check(!is_root || all == expected, "gatherv");
  MPI_Scatterv(is_root ? all.data() : nullptr, is_root ? counts.data() : nullptr,
               is_root ? places.data() : nullptr, MPI_INT, back.data(), rank + 1, MPI_INT, root,
               comm);
  check(back == own, "scatterv");
}

/// One call of each collective, with its expected result.
void collectives() {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int rank = rank_of(comm), size = size_of(comm), last = size - 1;
  const auto all = static_cast<std::size_t>(size);
  std::vector<int> of_each(all), from_each(all), to_each(all), ones(all, 1), places(all);
  for (int i = 0; i < size; ++i) {
    of_each[static_cast<std::size_t>(i)] = 7 * i;
    to_each[static_cast<std::size_t>(i)] = 100 * rank + i;
    from_each[static_cast<std::size_t>(i)] = 100 * i + rank;
    places[static_cast<std::size_t>(i)] = i;
  }
  const int own = 7 * rank;
  std::vector<int> got(all);
  const auto check_got = [&](const std::vector<int>& expected, const char* what) {
    check(got == expected, what);
    got.assign(all, -1);
  };
  check_bcast(comm, last);
  check_allreduce(comm);
  int sum = 0;
  MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, last, comm);
  check(rank != last || sum == size * last / 2, "reduce");
  MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  check(sum == rank * (rank + 1) / 2, "scan");
  MPI_Exscan(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  check(rank == 0 || sum == rank * (rank - 1) / 2, "exscan");
  MPI_Reduce_scatter_block(of_each.data(), &sum, 1, MPI_INT, MPI_SUM, comm);
  check(sum == 7 * rank * size, "reduce_scatter_block");
  MPI_Reduce_scatter(of_each.data(), &sum, ones.data(), MPI_INT, MPI_SUM, comm);
  check(sum == 7 * rank * size, "reduce_scatter");
  MPI_Scatter(of_each.data(), 1, MPI_INT, &sum, 1, MPI_INT, last, comm);
  check(sum == own, "scatter");
  MPI_Allgather(&own, 1, MPI_INT, got.data(), 1, MPI_INT, comm);
  check_got(of_each, "allgather");
  MPI_Allgatherv(&own, 1, MPI_INT, got.data(), ones.data(), places.data(), MPI_INT, comm);
  check_got(of_each, "allgatherv");
  MPI_Alltoall(to_each.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm);
  check_got(from_each, "alltoall");
  MPI_Alltoallv(to_each.data(), ones.data(), places.data(), MPI_INT, got.data(), ones.data(),
                places.data(), MPI_INT, comm);
  check_got(from_each, "alltoallv");
  std::vector<int> in_bytes(all, sizeof(int));
  std::transform(places.begin(), places.end(), in_bytes.begin(), [](int i) { return 4 * i; });
  const std::vector<MPI_Datatype> types(all, MPI_INT);
  MPI_Alltoallw(to_each.data(), ones.data(), in_bytes.data(), types.data(), got.data(), ones.data(),
                in_bytes.data(), types.data(), comm);
  check_got(from_each, "alltoallw");
  MPI_Gather(&own, 1, MPI_INT, got.data(), 1, MPI_INT, last, comm);
  if (rank == last) check_got(of_each, "gather");
  gather_and_scatter_by_counts();
  MPI_Barrier(comm);
}

/// Communicators that share ranks, used in turn.
void overlapping() {
  const int rank = rank_of(MPI_COMM_WORLD);
  MPI_Comm row = MPI_COMM_NULL, column = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 3, -rank, &row);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 3, rank, &column);
  for (int i = 0; i < 60; ++i)
    for (const MPI_Comm comm : {row, column, MPI_COMM_WORLD}) {
      const auto size = static_cast<std::size_t>(size_of(comm));
      const int own = rank_of(comm) * 1000 + i, root = i % size_of(comm);
      std::vector<int> all(size), expected(size);
      for (std::size_t other = 0; other < size; ++other)
        expected[other] = static_cast<int>(other) * 1000 + i;
      MPI_Gather(&own, 1, MPI_INT, all.data(), 1, MPI_INT, root, comm);
      check(rank_of(comm) != root || all == expected, "gather");
      int got = -1;
      MPI_Scatter(expected.data(), 1, MPI_INT, &got, 1, MPI_INT, root, comm);
      check(got == own, "scatter");
      std::fill(all.begin(), all.end(), -1);
      MPI_Allgather(&own, 1, MPI_INT, all.data(), 1, MPI_INT, comm);
      check(all == expected, "allgather");
      int before = -1;
      MPI_Scan(&i, &before, 1, MPI_INT, MPI_SUM, comm);
      check(before == i * (rank_of(comm) + 1), "scan");
      check_bcast(comm, root, 10);
    }
  MPI_Comm_free(&row);
  MPI_Comm_free(&column);
}

/// No rank can run ahead of the others without end, whatever the collective: rank 1 comes only when
/// rank 0 has waited in vain for the end of many calls. In those where every rank's data goes to
/// every rank, rank 1 has none.
void ahead() {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int rank = rank_of(comm), size = size_of(comm);
  const auto all = static_cast<std::size_t>(size);
  std::vector<int> in(all, rank), out(all), one_each(all, 1), but_one(all, 1), none(all, 0), places;
  for (int i = 0; i < size; ++i)
    places.push_back(i);
  but_one[1] = 0;
  const std::vector<int>& own = rank == 1 ? none : one_each;
  const auto from = rank == 1 ? 0 : 1;
  const std::vector<std::pair<const char*, std::function<void()>>> collectives = {
      {"bcast", [&] { MPI_Bcast(in.data(), 1, MPI_INT, 0, comm); }},
      {"reduce", [&] { MPI_Reduce(in.data(), out.data(), 1, MPI_INT, MPI_SUM, 1, comm); }},
      {"gather", [&] { MPI_Gather(in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, 1, comm); }},
      {"scatter", [&] { MPI_Scatter(in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, 0, comm); }},
      {"gatherv",
       [&] {
         MPI_Gatherv(in.data(), 1, MPI_INT, out.data(), one_each.data(), places.data(), MPI_INT, 1,
                     comm);
       }},
      {"scatterv",
       [&] {
         MPI_Scatterv(in.data(), one_each.data(), places.data(), MPI_INT, out.data(), 1, MPI_INT, 0,
                      comm);
       }},
      {"scan", [&] { MPI_Scan(in.data(), out.data(), 1, MPI_INT, MPI_SUM, comm); }},
      {"exscan", [&] { MPI_Exscan(in.data(), out.data(), 1, MPI_INT, MPI_SUM, comm); }},
      {"allgatherv",
       [&] {
         MPI_Allgatherv(in.data(), from, MPI_INT, out.data(), but_one.data(), places.data(),
                        MPI_INT, comm);
       }},
      {"alltoallv",
       [&] {
         MPI_Alltoallv(in.data(), own.data(), places.data(), MPI_INT, out.data(), but_one.data(),
                       places.data(), MPI_INT, comm);
       }},
      {"reduce_scatter",
       [&] { MPI_Reduce_scatter(in.data(), out.data(), but_one.data(), MPI_INT, MPI_SUM, comm); }},
      {"reduce_scatter_block",
       [&] { MPI_Reduce_scatter_block(in.data(), out.data(), 1, MPI_INT, MPI_SUM, comm); }},
      {"allreduce", [&] { MPI_Allreduce(in.data(), out.data(), 1, MPI_INT, MPI_SUM, comm); }},
      {"barrier", [&] { MPI_Barrier(comm); }},
  };
  constexpr int calls = 300; // several times as many as the credit lets through
  for (const auto& [name, call] : collectives) {
    if (rank == 1) {
      int flag = 0;
      const double end = MPI_Wtime() + 0.2;
      while (flag == 0 && MPI_Wtime() < end)
        MPI_Iprobe(0, 5, comm, &flag, MPI_STATUS_IGNORE);
      check(flag == 0, std::string(name) + " lets a rank run ahead");
    }
    for (int i = 0; i < calls; ++i)
      call();
    int token = 0;
    if (rank == 0) MPI_Send(&token, 1, MPI_INT, 1, 5, comm);
    if (rank == 1) MPI_Recv(&token, 1, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE);
  }
}

/// Elements that begin before their address.
void lower_bounds() {
  const UserDefined<sum_and_max, -8> reduction("a commutative operation", true);
  const int size = size_of(MPI_COMM_WORLD), rank = rank_of(MPI_COMM_WORLD);
  for (const bool in_place : {false, true})
    for (const int count : {1, 2, 1001}) {
      std::vector<Bytes> contributions;
      for (unsigned other = 0; other < static_cast<unsigned>(size); ++other)
        contributions.push_back(reduction.contribution(count, other + 1));
      const Bytes& mine = contributions[static_cast<std::size_t>(rank)];
      Bytes result = in_place ? mine : reduction.empty(count);
      MPI_Allreduce(in_place ? MPI_IN_PLACE : reduction.address(mine),
                    const_cast<void*>(reduction.address(result)), count, reduction.type(),
                    reduction.op(), MPI_COMM_WORLD);
      check(reduction.is_right(result, contributions, count, in_place), "lower bound");
    }
}

/// Handles come and go and are used again, with other members.
void reuse() {
  const int rank = rank_of(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  for (int i = 0; i < 300; ++i) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, (rank + i) % 3 == 0 ? 0 : 1, (rank * 7 + i) % size, &comm);
    check_bcast(comm, i % size_of(comm), 1 + i % 5);
    check_allreduce(comm, 1 + i % 5);
    MPI_Comm_free(&comm);
  }
}

/// Without a call that all members must be in together, a communicator is native until its first
/// allreduce with data, or barrier.
void late() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_bcast(comm, 0);
  check_allreduce(comm, 0);
  check_allreduce(comm);
  check_bcast(comm, 0);
  check_allreduce(comm);
  MPI_Comm_free(&comm);
  // No rank leaves a barrier early either.
  MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(comm);
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
}

void intercommunicators() {
  const int rank = rank_of(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  if (size < 2) return;
  MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL, merged = MPI_COMM_NULL;
  const int side = rank % 2;
  MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 3, &inter);
  int remote = 0;
  MPI_Comm_remote_size(inter, &remote);
  const int one = 1;
  int sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
  check(sum == remote, "allreduce gives the other group's sum");
  int value = rank == 0 ? 5 : 0;
  const int root = side == 1 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  MPI_Bcast(&value, 1, MPI_INT, root, inter);
  if (side == 1) check(value == 5, "bcast to the other group");
  MPI_Intercomm_merge(inter, side, &merged);
  check_bcast(merged, size - 1);
  check_allreduce(merged);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

/// Several threads, each with its own communicators, made and used at the same time.
void threads() {
  int level = 0;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) return check(false, "MPI_THREAD_MULTIPLE");
  constexpr int count = 3;
  MPI_Comm parents[count];
  for (MPI_Comm& parent : parents)
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
  std::vector<std::thread> workers;
  for (int i = 0; i < count; ++i)
    workers.emplace_back([comm = parents[i], i] {
      for (int round = 0; round < 5; ++round) {
        MPI_Comm own = MPI_COMM_NULL;
        MPI_Comm_dup(comm, &own);
        for (int k = 0; k < 4; ++k) {
          check_bcast(own, k % size_of(own), 10 + 1000 * i);
          check_allreduce(own, 10 + 1000 * i);
          check_alltoall(own, 10 + 1000 * i);
        }
        MPI_Comm_free(&own);
      }
    });
  for (std::thread& worker : workers)
    worker.join();
  for (MPI_Comm& parent : parents)
    MPI_Comm_free(&parent);
}

/// More bytes than an int counts: half of an int's range of MPI_SHORTs.
void large() {
  constexpr int count = (1 << 30) + 3;
  std::vector<short> data(static_cast<std::size_t>(count));
  const int rank = rank_of(MPI_COMM_WORLD);
  const auto value = [](std::size_t i) { return static_cast<short>(i * 2654435761U >> 7); };
  if (rank == 0)
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = value(i);
  MPI_Bcast(data.data(), count, MPI_SHORT, 0, MPI_COMM_WORLD);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < data.size(); ++i)
    wrong += data[i] != value(i);
  check(wrong == 0, "large bcast");
}

/// The programs that this one starts must not get the library.
void preload() {
  const char* const list = std::getenv("LD_PRELOAD");
  check(list == nullptr || std::strstr(list, "libthalweg") == nullptr, "LD_PRELOAD is clean");
}

/// What a file has at each rank's place, written and read by all of them.
void file() {
  MPI_File handle = MPI_FILE_NULL;
  const std::string name = std::string(std::getenv("TEST_FOLDER")) + "/file";
  MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                &handle);
  const int rank = rank_of(MPI_COMM_WORLD);
  const MPI_Offset at = rank * MPI_Offset{sizeof rank};
  int read = -1;
  MPI_File_write_at_all(handle, at, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(handle);
  MPI_File_read_at_all(handle, at, &read, 1, MPI_INT, MPI_STATUS_IGNORE);
  check(read == rank, "file");
#if MPI_VERSION >= 4
  MPI_File_write_at_all_c(handle, at, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(handle);
  MPI_File_read_at_all_begin_c(handle, at, &read, 1, MPI_INT);
  MPI_File_read_at_all_end(handle, &read, MPI_STATUS_IGNORE);
  check(read == rank, "file with large counts");
#endif
#if !defined(OPEN_MPI) // whose ROMIO lacks these
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_File_iwrite_at_all(handle, at, &rank, 1, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_sync(handle);
  MPI_File_iread_at_all(handle, at, &read, 1, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check(read == rank, "file without blocking");
#endif
  MPI_File_close(&handle);
}

/// An allgather in each of two communicators: the first half of the ranks, which has one more if
/// their number is odd, and the others.
void halves() {
  const int rank = rank_of(MPI_COMM_WORLD), half = (size_of(MPI_COMM_WORLD) + 1) / 2;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / half, rank, &comm);
  for (int i = 0; i < 3; ++i) {
    std::vector<int> all(static_cast<std::size_t>(size_of(comm)));
    MPI_Allgather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, comm);
    check(all.front() == rank - rank_of(comm), "allgather");
  }
  MPI_Comm_free(&comm);
}

/// Sums of numbers of very different sizes, whose bits show the order of the additions. Rank 0
/// prints a hash of all results, and the other ranks agree.
void sums() {
  const int rank = rank_of(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
  std::vector<unsigned char> bits;
  for (const MPI_Comm it : {MPI_COMM_WORLD, comm})
    for (const int count : {1, 7, 5000}) {
      const int all = count * size;
      std::vector<double> in, out(static_cast<std::size_t>(all));
      for (int i = 0; i < all; ++i)
        in.push_back(std::ldexp(1.0 / (3 + i + 7 * rank_of(it)), (rank_of(it) * 13 + i) % 60));
      const auto keep = [&](int from, int number) {
        std::vector<double> every(static_cast<std::size_t>(number * size));
        MPI_Gather(out.data() + from, number, MPI_DOUBLE, every.data(), number, MPI_DOUBLE, 0,
                   MPI_COMM_WORLD);
        const auto* const begin = reinterpret_cast<const unsigned char*>(every.data());
        bits.insert(bits.end(), begin, begin + every.size() * sizeof(double));
      };
      MPI_Allreduce(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, it);
      keep(0, count);
      MPI_Reduce(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, size - 1, it);
      keep(0, count);
      MPI_Scan(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, it);
      keep(0, count);
      MPI_Exscan(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, it);
      keep(0, count);
      MPI_Reduce_scatter_block(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, it);
      keep(0, count);
    }
  MPI_Barrier(comm);
  if (rank == 0) std::printf("sums %016llx\n", static_cast<unsigned long long>(hash(bits)));
  MPI_Comm_free(&comm);
}

/// Rooted calls alone: the ranks agree on a communicator although they never meet in one of them.
void rooted() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < 100; ++i)
    check_bcast(comm, i % size_of(comm));
  MPI_Comm_free(&comm);
  // Freed, or left to MPI_Finalize, while they haven't agreed yet.
  for (int i = 0; i < 50; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    check_bcast(comm, 1);
    if (i < 49) MPI_Comm_free(&comm);
  }
}

/// Communicators of a placement that no plan file knows: many with few calls, then one that is used
/// for `seconds`, then another of the same ranks with many calls.
void unknown_placement() {
  const int rank = rank_of(MPI_COMM_WORLD);
  MPI_Comm comm = MPI_COMM_NULL;
  const auto reversed = [&] { MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm); };
  for (int i = 0; i < 200; ++i) {
    reversed();
    int sum = 0;
    MPI_Scan(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
    check(sum == i * (rank_of(comm) + 1), "scan");
    MPI_Comm_free(&comm);
  }
  // Two ranks can first afford the plan 2.4 s after MPI_Init. Agreements come at doubled numbers of
  // calls, the next one thus after up to 4.8 s, or later where calls become slower.
  constexpr double seconds = 10;
  const double start = MPI_Wtime();
  reversed();
  for (int more = 1; more != 0;) {
    for (int i = 0; i < 20; ++i)
      check_allreduce(comm);
    more = MPI_Wtime() - start < seconds ? 1 : 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Comm_free(&comm);
  reversed();
  for (int i = 0; i < 100; ++i)
    MPI_Barrier(comm);
  MPI_Comm_free(&comm);
}

/// The program sets the locale of the environment.
void locale() {
  check(std::setlocale(LC_NUMERIC, "") != nullptr, "the locale is there");
  check(std::localeconv()->decimal_point == std::string(","), "the decimal comma");
  for (int i = 0; i < 3; ++i)
    check_bcast(MPI_COMM_WORLD, 0);
}

/// Makes known numbers of calls for tools that count them: 3 broadcasts, 2 allreduces.
void calls() {
  say_begun();
  for (int i = 0; i < 3; ++i)
    check_bcast(MPI_COMM_WORLD, 0);
  for (int i = 0; i < 2; ++i)
    check_allreduce(MPI_COMM_WORLD);
}

} // namespace
} // namespace thalweg::test

int main(int argc, char** argv) {
  using namespace thalweg::test;
  const Cases cases = {{"errors", errors},
                       {"lower-bounds", lower_bounds},
                       {"reuse", reuse},
                       {"late", late},
                       {"threads", threads},
                       {"intercommunicators", intercommunicators},
                       {"large", large},
                       {"preload", preload},
                       {"file", file},
                       {"calls", calls},
                       {"locale", locale},
                       {"halves", halves},
                       {"sums", sums},
                       {"rooted", rooted},
                       {"unknown-placement", unknown_placement},
                       {"collectives", collectives},
                       {"overlapping", overlapping},
                       {"ahead", ahead}};
  const std::string wanted = argc > 1 ? argv[1] : "";
  const bool has_threads = wanted == "threads" || wanted == "file"; // one may be the runtime's
  int level = 0;
  MPI_Init_thread(&argc, &argv, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  run_case(cases, wanted);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
