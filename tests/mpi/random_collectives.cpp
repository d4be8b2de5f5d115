// A random sequence of collectives over random communicators, with random types, operations and
// forced algorithms, against what MPI defines the results to be.
//   random_collectives SEED OPERATIONS [LARGEST_BYTES [stress|threads]]
// With "stress" ranks come late and run ahead, messages with wildcards are open meanwhile, some
// buffers are huge, and neither memory nor MPI objects of the process may become more. With
// "threads" several threads do so at once, each on communicators of its own. The sequence depends
// on the seed and the number of ranks alone. Exits with 1 if a result is wrong.
#include "algorithms/algorithm.hpp"
#include "check.hpp"
#include "disturbances.hpp"
#include "huge.hpp"
#include "layouts.hpp"
#include "neighborhood_calls.hpp"
#include "random_blocks.hpp"
#include "random_draws.hpp"
#include "reductions.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace thalweg::test {
namespace {

std::string context_force; ///< what is forced now

/// native, or one of all the algorithms for a collective.
std::string random_algorithm(Random& shared, collective::Kind kind) {
  const std::vector<std::string> parameters = {"",
                                               ":segment_size=64",
                                               ":segment_size=1000,degree=3",
                                               ":segment_size=32KB",
                                               ":order=rank",
                                               ":senders=2"};
  std::vector<std::string> choices = {"native"};
  const network::Network network = network::even_network(2, units::Time(1e-3), units::Rate(1e8));
  const algorithms::Problem problem{{.kind = kind, .ranks = 2}, network, {0, 1}};
  for (const algorithms::Algorithm* algorithm : algorithms::all()) // Some need more than a name.
    if (algorithm->supports(kind) && !algorithm->candidates(problem).empty())
      choices.push_back(std::string(algorithm->name()) +
                        parameters[static_cast<std::size_t>(pick(shared, std::ssize(parameters)))]);
  return choices[static_cast<std::size_t>(pick(shared, std::ssize(choices)))];
}

void random_force(Random& shared) {
  context_force.clear();
  for (int i = 0; i <= static_cast<int>(collective::Kind::barrier); ++i) {
    const auto kind = static_cast<collective::Kind>(i);
    context_force += (i > 0 ? ";" : "") + std::string(collective::to_text(kind)) + "=" +
                     random_algorithm(shared, kind);
  }
  const std::vector<std::string> paces = {"native", "by-rank", "by-rank:window=1",
                                          "by-host:window=2", "far-first"};
  for (const char* neighborhood : {";neighbor_allgather=", ";neighbor_alltoall="})
    context_force +=
        neighborhood + paces[static_cast<std::size_t>(pick(shared, std::ssize(paces)))];
  if (pick(shared, 4) == 0) context_force = ""; // as planned, if there is a plan
  force(context_force);
}

void bcast(Random& shared, Random& own, MPI_Comm comm, std::int64_t largest) {
  const std::int64_t kind = pick(shared, std::ssize(basic_types()));
  const Basic& basic = basic_types()[static_cast<std::size_t>(kind)];
  const std::int64_t units = random_units(shared, basic.size, largest);
  const std::uint64_t seed = shared();
  const auto root_seed = shared();
  const bool large_count = pick(shared, 2) == 0;
  if (comm == MPI_COMM_NULL) return;
  const Peers peers(comm);
  const int root = static_cast<int>(root_seed % static_cast<std::uint64_t>(peers.size));
  const Layout layout(basic, {units}, own());
  auto buffer = layout.buffer(), expected = buffer;
  if (peers.rank == root) layout.fill(buffer, seed);
  // Libraries mix up an element without data on one rank and no element on another.
  if (units > 0 && pick(own, 4) == 0) {
    const AtAddresses there(layout.type(), {{layout.address(buffer), layout.count()}});
    MPI_Bcast(MPI_BOTTOM, 1, there.type(), root, comm);
  } else
#if MPI_VERSION >= 4
      if (large_count)
    MPI_Bcast_c(layout.address(buffer), layout.count(), layout.type(), root, comm);
  else
#endif
    MPI_Bcast(layout.address(buffer), static_cast<int>(layout.count()), layout.type(), root, comm);
  static_cast<void>(large_count);
  layout.fill(expected, seed);
  check(buffer == expected, "bcast of " + std::to_string(units) + " " + basic.name + " from " +
                                std::to_string(root) + " of " + std::to_string(peers.size) +
                                " as " + layout.name());
}

void blocks(Random& shared, Random& own, MPI_Comm comm, std::int64_t largest) {
  const auto kind = static_cast<Moves>(pick(shared, std::ssize(moves_names)));
  const std::uint64_t seed = shared();
  if (comm != MPI_COMM_NULL) BlockCall(kind, Peers(comm), seed, largest, own).check_it();
}

/// A reduce to a random root, or an allreduce.
void reduction(Random& shared, MPI_Comm comm, std::int64_t largest, bool to_all) {
  const auto& all = reductions();
  const Reduction& reduction = *all[static_cast<std::size_t>(pick(shared, std::ssize(all)))];
  const std::int64_t count = random_units(shared, reduction.extent(), largest);
  const bool in_place = pick(shared, 2) == 0, large_count = pick(shared, 2) == 0;
  const std::uint64_t seed = shared();
  const auto root_seed = shared();
  if (comm == MPI_COMM_NULL) return;
  const int rank = rank_of(comm), size = size_of(comm);
  const int root = static_cast<int>(root_seed % static_cast<std::uint64_t>(size));
  const bool has_result = to_all || rank == root;
  std::vector<std::vector<unsigned char>> contributions;
  for (int other = 0; other < size; ++other)
    contributions.push_back(reduction.contribution(count, seed + static_cast<unsigned>(other)));
  const auto& mine = contributions[static_cast<std::size_t>(rank)];
#ifdef MPICH_VERSION // 4.0.2 crashes in a native reduce in place at another root than 0.
  const bool possible = to_all || root == 0;
#else
  const bool possible = true;
#endif
  const bool own_in_place = in_place && has_result && possible;
  const std::vector<unsigned char> kept = mine;
  std::vector<unsigned char> result = own_in_place ? mine : reduction.empty(count);
  const std::vector<unsigned char> untouched = result;
  const void* const send = own_in_place ? MPI_IN_PLACE : reduction.address(mine);
  void* const receive = const_cast<void*>(reduction.address(result));
  const MPI_Datatype type = reduction.type();
  const MPI_Op op = reduction.op();
#if MPI_VERSION >= 4
  if (large_count && to_all)
    MPI_Allreduce_c(send, receive, count, type, op, comm);
  else if (large_count)
    MPI_Reduce_c(send, receive, count, type, op, root, comm);
  else
#endif
      if (to_all)
    MPI_Allreduce(send, receive, static_cast<int>(count), type, op, comm);
  else
    MPI_Reduce(send, receive, static_cast<int>(count), type, op, root, comm);
  static_cast<void>(large_count);
  const std::string what = std::string(reduction.name()) + " of " + std::to_string(count) + " on " +
                           std::to_string(size) +
                           (to_all ? "" : " at root " + std::to_string(root));
  if (has_result)
    check(reduction.is_right(result, contributions, count, own_in_place), what);
  else
    check(result == untouched, what + ": a receive buffer that means nothing was written to");
  check(mine == kept, what + ": the send buffer was written to");
  if (to_all) check_same_bits(result, comm, what);
}

/// A scan or exscan.
void prefix(Random& shared, MPI_Comm comm, std::int64_t largest) {
  const auto& all = reductions();
  const Reduction& reduction = *all[static_cast<std::size_t>(pick(shared, std::ssize(all)))];
  const std::int64_t count = random_units(shared, reduction.extent(), largest);
  const bool in_place = pick(shared, 2) == 0, large_count = pick(shared, 2) == 0;
  const bool exclusive = pick(shared, 2) == 0;
  const std::uint64_t seed = shared();
  if (comm == MPI_COMM_NULL) return;
  const Peers peers(comm);
  std::vector<Bytes> before;
  for (int other = 0; other < peers.rank; ++other)
    before.push_back(reduction.contribution(count, seed + static_cast<unsigned>(other)));
  const Bytes mine = reduction.contribution(count, seed + static_cast<unsigned>(peers.rank));
  if (!exclusive) before.push_back(mine);
  const Bytes kept = mine;
  Bytes result = in_place ? mine : reduction.empty(count);
  const Bytes untouched = result;
  const void* const send = in_place ? MPI_IN_PLACE : reduction.address(mine);
  void* const receive = const_cast<void*>(reduction.address(result));
  const MPI_Datatype type = reduction.type();
  const MPI_Op op = reduction.op();
#if MPI_VERSION >= 4
  if (large_count)
    (exclusive ? MPI_Exscan_c : MPI_Scan_c)(send, receive, count, type, op, comm);
  else
#endif
    (exclusive ? MPI_Exscan : MPI_Scan)(send, receive, static_cast<int>(count), type, op, comm);
  static_cast<void>(large_count);
  const std::string what = std::string(exclusive ? "exscan" : "scan") + " by " + reduction.name() +
                           " of " + std::to_string(count) + " on " + std::to_string(peers.size) +
                           (in_place ? " in place" : "");
  if (before.empty())
    check(result == untouched, what + ": the first rank's buffer was written to");
  else
    check(reduction.is_right(result, before, count, in_place), what);
  check(mine == kept, what + ": the send buffer was written to");
}

/// A reduce_scatter, or a reduce_scatter_block.
void reduce_scatter(Random& shared, MPI_Comm comm, std::int64_t largest) {
  const auto& all = reductions();
  auto which = static_cast<std::size_t>(pick(shared, std::ssize(all)));
#ifdef MPICH_VERSION // 4.0.2 writes beyond its buffers in a native one of what isn't commutative.
  int commutative = 0;
  MPI_Op_commutative(all[which]->op(), &commutative);
  if (commutative == 0) which = 0;
#endif
  const Reduction& reduction = *all[which];
  const std::int64_t most = random_units(shared, reduction.extent(), largest);
  const bool in_place = pick(shared, 2) == 0, large_count = pick(shared, 2) == 0;
  const bool even = pick(shared, 2) == 0;
  const std::uint64_t seed = shared();
  if (comm == MPI_COMM_NULL) return;
  const Peers peers(comm);
  Random sizes(seed);
  std::vector<int> counts;
  std::int64_t total = 0, begin = 0;
  for (int block = 0; block < peers.size; ++block) {
    const std::int64_t count = even ? most / peers.size : pick(sizes, 2 * most / peers.size + 1);
    counts.push_back(static_cast<int>(!even && pick(sizes, 4) == 0 ? 0 : count));
    if (block == peers.rank) begin = total;
    total += counts.back();
  }
  const int count = counts[static_cast<std::size_t>(peers.rank)];
  std::vector<Bytes> contributions;
  for (int other = 0; other < peers.size; ++other)
    contributions.push_back(reduction.contribution(total, seed + static_cast<unsigned>(other)));
  const Bytes& mine = contributions[static_cast<std::size_t>(peers.rank)];
  const Bytes kept = mine;
  Bytes result = in_place ? mine : reduction.empty(count);
  const void* const send = in_place ? MPI_IN_PLACE : reduction.address(mine);
  void* const receive = const_cast<void*>(reduction.address(result));
  const MPI_Datatype type = reduction.type();
  const MPI_Op op = reduction.op();
#if MPI_VERSION >= 4
  const std::vector<MPI_Count> large(counts.begin(), counts.end());
  if (large_count && even)
    MPI_Reduce_scatter_block_c(send, receive, count, type, op, comm);
  else if (large_count)
    MPI_Reduce_scatter_c(send, receive, large.data(), type, op, comm);
  else
#endif
      if (even)
    MPI_Reduce_scatter_block(send, receive, count, type, op, comm);
  else
    MPI_Reduce_scatter(send, receive, counts.data(), type, op, comm);
  static_cast<void>(large_count);
  check(mine == kept, "reduce_scatter: the send buffer was written to");
  std::vector<Bytes> expected;
  for (const Bytes& contribution : contributions)
    expected.push_back(reduction.part(contribution, begin, count));
  // In place the rest of the buffer may hold anything.
  if (in_place) result = reduction.part(result, 0, count);
  check(reduction.is_right(result, expected, count, in_place),
        std::string("reduce_scatter by ") + reduction.name() + " of " + std::to_string(total) +
            " on " + std::to_string(peers.size) + (even ? "" : " uneven") +
            (in_place ? " in place" : ""));
}

/// Nobody leaves before all have entered.
void barrier(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return;
  // One clock for all ranks, which are on this host; MPI_Wtime may have one per process.
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  const double entry = now();
  MPI_Barrier(comm);
  const double exit = now();
  double last_entry = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&entry, &last_entry, 1, MPI_DOUBLE, MPI_MAX, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check(last_entry <= exit, "barrier: left before all had entered");
}

/// Calls on a grid or a graph, which changes now and then.
class Neighborhood {
public:
  /// Makes another one on a communicator, which may be MPI_COMM_NULL on some ranks.
  void change(Random& shared, MPI_Comm comm) {
    Random drawn(shared());
    _calls.reset();
    if (comm != MPI_COMM_NULL) _calls.emplace(drawn, comm, pick(drawn, 4) == 0);
  }
  void call(Random& shared) {
    Random drawn(shared());
    if (_calls) _calls->run_one(drawn);
  }

private:
  std::optional<NeighborhoodCalls> _calls;
};

void operation(Random& shared, Random& own, MPI_Comm comm, Neighborhood& neighborhood,
               std::int64_t largest) {
  const std::int64_t which = pick(shared, 14);
  if (which < 2)
    bcast(shared, own, comm, largest);
  else if (which < 5)
    reduction(shared, comm, largest, which > 2);
  else if (which < 9)
    blocks(shared, own, comm, largest);
  else if (which == 9)
    prefix(shared, comm, largest);
  else if (which == 10)
    reduce_scatter(shared, comm, largest);
  else if (which == 11)
    barrier(comm);
  else
    neighborhood.call(shared);
}

/// The operations of one thread, on communicators that no other thread uses.
class Sequence {
public:
  /// @param world a communicator of all ranks
  Sequence(std::uint64_t seed, MPI_Comm world, std::int64_t largest, bool stress)
      : _seed(seed), _world(world), _largest(largest), _stress(stress), _shared(seed),
        _own(seed * 1000 + static_cast<std::uint64_t>(Peers(world).rank)), _pool(_shared, world) {}

  /// Changes the communicators and what is forced, now and then. No other thread may call MPI: Open
  /// MPI 5.0 hangs where several make communicators.
  void change() {
    if (pick(_shared, 20) == 0) _pool.change();
    if (pick(_shared, 100) == 0) _neighborhood.change(_shared, _pool.choose());
    if (pick(_shared, 4) == 0) random_force(_shared);
  }

  void next(int number) {
    const MPI_Comm comm = _pool.choose();
    context = "seed " + std::to_string(_seed) + " operation " + std::to_string(number) + " " +
              context_force;
    if (_stress) disturb(comm);
    operation(_shared, _own, comm, _neighborhood, _largest);
  }

private:
  /// Does one of the disturbances, now and then.
  void disturb(MPI_Comm comm) {
    const std::int64_t which = pick(_shared, 40);
    if (which == 0) delay_one(_shared);
    if (which == 1) run_ahead(_shared, comm);
    if (which >= 2 && which < 6) {
      _open.reset();
      _open.emplace(_shared, _world);
    }
    if (which == 6) huge(_shared, comm);
  }

  std::uint64_t _seed;
  MPI_Comm _world;
  std::int64_t _largest;
  bool _stress;
  Random _shared, _own;
  Pool _pool;
  Neighborhood _neighborhood;
  std::optional<OpenMessages> _open;
};

/// Returns by how much a process may grow that has settled. Each rank keeps at most 128 MiB of
/// scratch memory; with small data it is far less.
std::int64_t most_growth(std::int64_t largest) { return 64 * largest + (std::int64_t{32} << 20); }

void run(std::uint64_t seed, int operations, std::int64_t largest, bool stress) {
  NoLeak leak(operations);
  {
    Sequence sequence(seed, MPI_COMM_WORLD, largest, stress);
    for (int i = 0; i < operations; ++i) {
      sequence.change();
      sequence.next(i);
      if (i == 10) say_begun();
      leak.after(i);
    }
  }
  if (stress) leak.check_end(most_growth(largest));
}

/// Several threads call at once. Communicators and what is forced change between the batches of
/// their calls.
void run_threads(std::uint64_t seed, int operations, std::int64_t largest) {
  constexpr int threads = 3, batch = 20;
  Random shared(seed);
  NoLeak leak(operations);
  reductions(); // are made by the first to ask
  std::vector<MPI_Comm> worlds(threads, MPI_COMM_NULL);
  {
    std::vector<std::unique_ptr<Sequence>> sequences;
    for (MPI_Comm& world : worlds) {
      MPI_Comm_dup(MPI_COMM_WORLD, &world);
      sequences.push_back(std::make_unique<Sequence>(shared(), world, largest, true));
    }
    for (int i = 0; i < operations; i += threads * batch) {
      for (const auto& sequence : sequences)
        sequence->change();
      std::vector<std::thread> running;
      for (const auto& sequence : sequences)
        running.emplace_back([&sequence, first = i] {
          for (int number = first; number < first + batch; ++number)
            sequence->next(number);
        });
      for (std::thread& thread : running)
        thread.join();
      leak.after(i);
    }
  }
  for (MPI_Comm& world : worlds)
    MPI_Comm_free(&world);
  // Threads have parts of the heap of their own; with Intel MPI alone a process grows by 20 MiB,
  // however many calls there are.
  leak.check_end(2 * most_growth(largest));
}

} // namespace
} // namespace thalweg::test

int main(int argc, char** argv) {
  using namespace thalweg::test;
  const std::string how = argc > 4 ? argv[4] : "";
  const int wanted = how == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  int level = 0;
  MPI_Init_thread(&argc, &argv, wanted, &level);
  if (argc < 3 || level < wanted) {
    std::fprintf(stderr, "%s\n",
                 argc < 3 ? "usage: random_collectives SEED OPERATIONS [LARGEST_BYTES "
                            "[stress|threads]]"
                          : "this MPI library gives no MPI_THREAD_MULTIPLE");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const std::uint64_t seed = std::strtoull(argv[1], nullptr, 10);
  const int operations = std::atoi(argv[2]);
  const std::int64_t largest = argc > 3 ? std::atoll(argv[3]) : 300'000;
  if (how == "threads")
    run_threads(seed, operations, largest);
  else
    run(seed, operations, largest, how == "stress");
  free_reductions();
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
