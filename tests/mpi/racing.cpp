// Collectives of a few shapes on communicators that come and go, often enough that plans and native
// race: racing SEED CALLS [threads|lasting]
// Ranks come late now and then, or run ahead where a collective lets them. With "threads" several
// threads do so at once, each on communicators of its own. With "lasting" one more communicator
// stays, and ranks come late more often, so that there is time to replace its plans. With CALLS 0
// there are allreduces, and then a few calls with counts, on a copy of MPI_COMM_WORLD alone. Exits
// with 1 if a result is wrong.
#include "check.hpp"
#include "random_draws.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace thalweg::test {
namespace {

using Ints = std::vector<int>;

/// A collective with its root and the number of ints in a block or vector.
struct Shape {
  int collective = 0, root = 0, count = 1;
};
constexpr int collectives = 12;

/// One communicator and the shapes that are called on it.
class Series {
public:
  explicit Series(MPI_Comm world, std::vector<Shape> shapes = {}) : _shapes(std::move(shapes)) {
    MPI_Comm_dup(world, &_comm);
  }
  Series(Random& shared, MPI_Comm world) {
    if (pick(shared, 3) > 0) {
      MPI_Comm_dup(world, &_comm);
    } else {
      const int color = pick(shared, 2) == 0 ? 0 : rank_of(world) % 2;
      MPI_Comm_split(world, color, pick(shared, 2) == 0 ? rank_of(world) : -rank_of(world), &_comm);
    }
    const int counts[] = {1, 5, 300, 4000};
    const bool rooted_only = pick(shared, 4) == 0;
    for (std::int64_t i = 0; i <= pick(shared, 3); ++i)
      _shapes.push_back({static_cast<int>(pick(shared, rooted_only ? 6 : collectives)),
                         static_cast<int>(pick(shared, 64)), counts[pick(shared, 4)]});
  }
  Series(Series&& other) noexcept
      : _comm(std::exchange(other._comm, MPI_COMM_NULL)), _shapes(std::move(other._shapes)),
        _number(other._number) {}
  Series& operator=(Series&&) = delete;
  ~Series() {
    if (_comm != MPI_COMM_NULL) MPI_Comm_free(&_comm);
  }
  void call(const Shape& shape) {
    execute(shape);
    ++_number;
  }
  void call(Random& shared) {
    call(_shapes[static_cast<std::size_t>(pick(shared, std::ssize(_shapes)))]);
  }

private:
  /// What rank `from` gives to rank `to`.
  [[nodiscard]] int value(int from, int to) const { return 1000 * _number + 10 * from + to; }
  /// What all ranks before `end` give to a rank, summed.
  [[nodiscard]] int sum(int end, int to) const {
    int result = 0;
    for (int from = 0; from < end; ++from)
      result += value(from, to);
    return result;
  }
  static void expect(const Ints& got, std::size_t at, int count, int value, const char* what) {
    const auto begin = got.begin() + static_cast<std::ptrdiff_t>(at);
    check(std::all_of(begin, begin + count, [&](int each) { return each == value; }), what);
  }
  /// Blocks to each rank.
  [[nodiscard]] Ints blocks(int from, int size, int count) const {
    Ints result;
    for (int to = 0; to < size; ++to)
      result.insert(result.end(), static_cast<std::size_t>(count), value(from, to));
    return result;
  }
  void execute(const Shape& shape) {
    const int rank = rank_of(_comm), size = size_of(_comm), root = shape.root % size;
    const int n = shape.count;
    const auto count = static_cast<std::size_t>(n), all = count * static_cast<std::size_t>(size);
    Ints in(count, value(rank, 0)), out(count, -1), many(all, -1);
    const auto expect_many = [&](int to, const char* what) {
      for (int from = 0; from < size; ++from)
        expect(many, static_cast<std::size_t>(from) * count, n, value(from, to), what);
    };
    switch (shape.collective) {
    case 0:
      MPI_Bcast(in.data(), n, MPI_INT, root, _comm);
      return expect(in, 0, n, value(root, 0), "bcast");
    case 1:
      MPI_Reduce(in.data(), out.data(), n, MPI_INT, MPI_SUM, root, _comm);
      if (rank == root) expect(out, 0, n, sum(size, 0), "reduce");
      return;
    case 2:
      MPI_Gather(in.data(), n, MPI_INT, many.data(), n, MPI_INT, root, _comm);
      if (rank == root) expect_many(0, "gather");
      return;
    case 3:
      MPI_Scatter(blocks(rank, size, n).data(), n, MPI_INT, out.data(), n, MPI_INT, root, _comm);
      return expect(out, 0, n, value(root, rank), "scatter");
    case 4:
      MPI_Scan(in.data(), out.data(), n, MPI_INT, MPI_SUM, _comm);
      return expect(out, 0, n, sum(rank + 1, 0), "scan");
    case 5:
      MPI_Exscan(in.data(), out.data(), n, MPI_INT, MPI_SUM, _comm);
      if (rank > 0) expect(out, 0, n, sum(rank, 0), "exscan");
      return;
    case 6:
      MPI_Allreduce(in.data(), out.data(), n, MPI_INT, MPI_SUM, _comm);
      return expect(out, 0, n, sum(size, 0), "allreduce");
    case 7:
      MPI_Allgather(in.data(), n, MPI_INT, many.data(), n, MPI_INT, _comm);
      return expect_many(0, "allgather");
    case 8:
      MPI_Alltoall(blocks(rank, size, n).data(), n, MPI_INT, many.data(), n, MPI_INT, _comm);
      return expect_many(rank, "alltoall");
    case 9:
      MPI_Reduce_scatter_block(blocks(rank, size, n).data(), out.data(), n, MPI_INT, MPI_SUM,
                               _comm);
      return expect(out, 0, n, sum(size, rank), "reduce_scatter_block");
    case 10:
      return with_counts(n);
    default:
      MPI_Barrier(_comm);
    }
  }
  /// Blocks of n ints, of rank 0 one more.
  void with_counts(int n) const {
    const int rank = rank_of(_comm), size = size_of(_comm), own = n + (rank == 0 ? 1 : 0);
    Ints counts(static_cast<std::size_t>(size), n), begins;
    ++counts.front();
    for (int i = 0; i < size; ++i)
      begins.push_back(i * n + (i > 0 ? 1 : 0));
    const Ints in(static_cast<std::size_t>(n * size + 1), value(rank, 0));
    Ints out(static_cast<std::size_t>(own), -1), many(in.size(), -1);
    MPI_Reduce_scatter(in.data(), out.data(), counts.data(), MPI_INT, MPI_SUM, _comm);
    expect(out, 0, own, sum(size, 0), "reduce_scatter");
    MPI_Allgatherv(in.data(), own, MPI_INT, many.data(), counts.data(), begins.data(), MPI_INT,
                   _comm);
    for (int i = 0; i < size; ++i)
      expect(many, static_cast<std::size_t>(begins[static_cast<std::size_t>(i)]),
             counts[static_cast<std::size_t>(i)], value(i, 0), "allgatherv");
  }

  MPI_Comm _comm = MPI_COMM_NULL;
  std::vector<Shape> _shapes;
  int _number = 0;
};

/// The calls of one thread, on communicators that no other thread uses.
class Sequence {
public:
  Sequence(std::uint64_t seed, MPI_Comm world, bool lasts)
      : _world(world), _shared(seed),
        _own(seed * 1000 + static_cast<std::uint64_t>(rank_of(world))), _lasting(lasts ? 1 : 0) {
    if (lasts) _series.emplace_back(_world, lasting_shapes());
    for (int i = 0; i < 3; ++i)
      _series.emplace_back(_shared, _world);
  }
  /// Makes a communicator, and frees one. No other thread may call MPI.
  void change() {
    const auto at =
        static_cast<std::size_t>(_lasting + pick(_shared, std::ssize(_series) - _lasting));
    _series.emplace_back(_shared, _world);
    std::vector<Series> kept;
    for (std::size_t i = 0; i < _series.size(); ++i)
      if (i != at) kept.push_back(std::move(_series[i]));
    _series.swap(kept);
  }
  void next() {
    if (pick(_shared, 8) == 0) _at = static_cast<std::size_t>(pick(_shared, std::ssize(_series)));
    if (pick(_own, _lasting > 0 ? 40 : 400) == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(pick(_own, 3000)));
    _series[_at].call(_shared);
  }

private:
  /// Shapes large enough that a plan for a slow port isn't one for a fast one, and of sizes that no
  /// other communicator's calls have (racing.py).
  static std::vector<Shape> lasting_shapes() {
    constexpr int bcast = 0, allreduce = 6, allgather = 7;
    return {{.collective = allreduce, .count = 20'000},
            {.collective = bcast, .count = 20'000},
            {.collective = allgather, .count = 5000}};
  }

  MPI_Comm _world;
  Random _shared, _own;
  std::ptrdiff_t _lasting; ///< the first so many communicators are never freed
  std::vector<Series> _series;
  std::size_t _at = 0;
};

void run(std::uint64_t seed, int calls, std::size_t threads, bool lasts) {
  constexpr int batch = 500;
  std::vector<MPI_Comm> worlds(threads, MPI_COMM_NULL);
  std::vector<Sequence> sequences;
  for (std::size_t i = 0; i < threads; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &worlds[i]);
    sequences.emplace_back(seed * 10 + i, worlds[i], lasts);
  }
  for (int done = 0; done < calls; done += batch) {
    context = "seed " + std::to_string(seed) + " call " + std::to_string(done);
    for (Sequence& sequence : sequences)
      sequence.change();
    std::vector<std::thread> running;
    for (Sequence& sequence : sequences) {
      const auto make = [&sequence] {
        for (int i = 0; i < batch; ++i)
          sequence.next();
      };
      if (threads == 1)
        make();
      else
        running.emplace_back(make);
    }
    for (std::thread& thread : running)
      thread.join();
    if (done == 0) say_begun();
  }
  sequences.clear();
  for (MPI_Comm& world : worlds)
    MPI_Comm_free(&world);
}

void call_on_copy() {
  Series series(MPI_COMM_WORLD);
  for (int i = 0; i < 100; ++i)
    series.call({.collective = 6, .count = 4000});
  for (int i = 0; i < 6; ++i)
    series.call({.collective = 10, .count = 300});
}

} // namespace
} // namespace thalweg::test

int main(int argc, char** argv) {
  using namespace thalweg::test;
  const std::string mode = argc > 3 ? argv[3] : "";
  const bool threads = mode == "threads";
  const int wanted = threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  int level = 0;
  MPI_Init_thread(&argc, &argv, wanted, &level);
  if (argc < 3 || level < wanted) {
    std::fprintf(stderr, "%s\n",
                 argc < 3 ? "usage: racing SEED CALLS [threads|lasting]"
                          : "this MPI library gives no MPI_THREAD_MULTIPLE");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (const int calls = std::atoi(argv[2]))
    run(std::strtoull(argv[1], nullptr, 10), calls, threads ? 3 : 1, mode == "lasting");
  else
    call_on_copy();
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
