// A random sequence of broadcasts, reduces and allreduces over random communicators, with random
// types, operations and forced algorithms, against what MPI defines the results to be.
//   random_collectives SEED OPERATIONS [LARGEST_BYTES]
// The sequence depends on the seed and the number of ranks alone. Exits with 1 if a result is
// wrong.
#include "check.hpp"
#include "layouts.hpp"
#include "reductions.hpp"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace thalweg::test {
namespace {

using Random = std::mt19937_64;

std::string context_force; ///< what is forced now

std::int64_t pick(Random& random, std::int64_t below) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
}

/// Communicators of which each rank is in some, made and freed as the sequence goes.
class Pool {
public:
  explicit Pool(Random& shared) : _shared(shared) { _comms.push_back(MPI_COMM_WORLD); }
  ~Pool() {
    for (std::size_t i = 1; i < _comms.size(); ++i)
      if (_comms[i] != MPI_COMM_NULL) MPI_Comm_free(&_comms[i]);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// One of them, the same on all ranks; MPI_COMM_NULL where the rank isn't in it.
  MPI_Comm choose() { return _comms[index(_comms.size())]; }

  void change() {
    if (_comms.size() > 6) {
      const std::size_t at = 1 + index(_comms.size() - 1);
      if (_comms[at] != MPI_COMM_NULL) MPI_Comm_free(&_comms[at]);
      _comms.erase(_comms.begin() + static_cast<std::ptrdiff_t>(at));
    }
    const MPI_Comm parent = choose();
    const auto how = pick(_shared, 5);
    const auto seed = _shared();
    MPI_Comm made = MPI_COMM_NULL;
    if (parent != MPI_COMM_NULL) made = make(parent, how, seed);
    _comms.push_back(made);
  }

private:
  std::size_t index(std::size_t below) {
    return static_cast<std::size_t>(pick(_shared, static_cast<std::int64_t>(below)));
  }
  static MPI_Comm make(MPI_Comm parent, std::int64_t how, std::uint64_t seed) {
    int rank = 0, size = 0;
    MPI_Comm_rank(parent, &rank);
    MPI_Comm_size(parent, &size);
    Random random(seed + static_cast<std::uint64_t>(rank) * 977);
    MPI_Comm made = MPI_COMM_NULL;
    if (how == 0) {
      MPI_Comm_dup(parent, &made);
    } else if (how == 1) {
      // Set up in its first allreduce, since nobody waits for an idup.
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Comm_idup(parent, &made, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (how == 2) {
      MPI_Group group = MPI_GROUP_NULL, odd = MPI_GROUP_NULL;
      MPI_Comm_group(parent, &group);
      int range[1][3] = {{size - 1, 0, -2}};
      MPI_Group_range_incl(group, 1, range, &odd);
      MPI_Comm_create(parent, odd, &made);
      MPI_Group_free(&odd);
      MPI_Group_free(&group);
    } else {
      const int color = static_cast<int>(pick(random, 3));
      MPI_Comm_split(parent, color == 2 ? MPI_UNDEFINED : color,
                     static_cast<int>(pick(random, 1000)), &made);
    }
    return made;
  }

  Random& _shared;
  std::vector<MPI_Comm> _comms;
};

std::int64_t random_units(Random& shared, std::int64_t unit_bytes, std::int64_t largest) {
  switch (pick(shared, 5)) {
  case 0:
    return pick(shared, 2);
  case 1:
    return 1 + pick(shared, 20);
  case 2:
    return 12 * pick(shared, 200);
  case 3:
    return 2 * pick(shared, 3000) + 1;
  default:
    return pick(shared, std::max<std::int64_t>(1, largest / unit_bytes));
  }
}

void random_force(Random& shared) {
  const std::vector<std::string> bcasts = {
      "native",    "flat",          "binomial",     "pipelined-chain",       "scatter-allgather",
      "far-first", "earliest-tree", "hierarchical", "site-scatter-allgather"};
  const std::vector<std::string> reduces = {"native",          "flat",         "binomial",
                                            "pipelined-chain", "hierarchical", "site-rabenseifner",
                                            "two-tier"};
  const std::vector<std::string> allreduces = {
      "native",       "binomial",     "pipelined-chain",   "ring",    "recursive-doubling",
      "rabenseifner", "hierarchical", "site-rabenseifner", "two-tier"};
  const std::vector<std::string> parameters = {"",
                                               ":segment_size=64",
                                               ":segment_size=1000,degree=3",
                                               ":segment_size=32KB",
                                               ":order=rank",
                                               ":senders=2"};
  const auto choose = [&](const std::vector<std::string>& choices) {
    return choices[static_cast<std::size_t>(pick(shared, std::ssize(choices)))];
  };
  const auto plan = [&](const std::string& algorithm) {
    return algorithm == "native" ? algorithm : algorithm + choose(parameters);
  };
  context_force = "bcast=" + plan(choose(bcasts)) + ";reduce=" + plan(choose(reduces)) +
                  ";allreduce=" + plan(choose(allreduces));
  if (pick(shared, 4) == 0) context_force = ""; // as planned, if there is a plan
  force(context_force);
}

void bcast(Random& shared, Random& own, MPI_Comm comm, std::int64_t largest) {
  const std::int64_t kind = pick(shared, basic_types().size());
  const Basic& basic = basic_types()[static_cast<std::size_t>(kind)];
  const std::int64_t units = random_units(shared, basic.size, largest);
  const std::uint64_t seed = shared();
  const auto root_seed = shared();
  const bool large_count = pick(shared, 2) == 0;
  if (comm == MPI_COMM_NULL) return;
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int root = static_cast<int>(root_seed % static_cast<std::uint64_t>(size));
  const Layout layout(basic, units, own());
  std::vector<unsigned char> buffer(static_cast<std::size_t>(layout.bytes()), 0xa5);
  if (rank == root) layout.fill(buffer, seed);
#if MPI_VERSION >= 4
  if (large_count)
    MPI_Bcast_c(layout.address(buffer), layout.count(), layout.type(), root, comm);
  else
#endif
    MPI_Bcast(layout.address(buffer), static_cast<int>(layout.count()), layout.type(), root, comm);
  static_cast<void>(large_count);
  std::vector<unsigned char> expected(buffer.size(), 0xa5);
  layout.fill(expected, seed);
  check(buffer == expected, "bcast of " + std::to_string(units) + " " + basic.name + " from " +
                                std::to_string(root) + " of " + std::to_string(size) + " as " +
                                layout.name());
}

/// A reduce to a random root, or an allreduce.
void reduction(Random& shared, MPI_Comm comm, std::int64_t largest, bool to_all) {
  const auto& all = reductions();
  const Reduction& reduction = *all[static_cast<std::size_t>(pick(shared, all.size()))];
  const std::int64_t count = random_units(shared, reduction.extent(), largest);
  const bool in_place = pick(shared, 2) == 0, large_count = pick(shared, 2) == 0;
  const std::uint64_t seed = shared();
  const auto root_seed = shared();
  if (comm == MPI_COMM_NULL) return;
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
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

int run(std::uint64_t seed, int operations, std::int64_t largest) {
  Random shared(seed);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Random own(seed * 1000 + static_cast<std::uint64_t>(rank));
  {
    Pool pool(shared);
    for (int i = 0; i < operations; ++i) {
      if (pick(shared, 20) == 0) pool.change();
      if (pick(shared, 4) == 0) random_force(shared);
      const MPI_Comm comm = pool.choose();
      context =
          "seed " + std::to_string(seed) + " operation " + std::to_string(i) + " " + context_force;
      const std::int64_t which = pick(shared, 3);
      if (which == 0)
        bcast(shared, own, comm, largest);
      else
        reduction(shared, comm, largest, which == 1);
    }
  }
  free_reductions();
  return failures;
}

} // namespace
} // namespace thalweg::test

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 3) {
    std::fprintf(stderr, "usage: random_collectives SEED OPERATIONS [LARGEST_BYTES]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int wrong = thalweg::test::run(std::strtoull(argv[1], nullptr, 10), std::atoi(argv[2]),
                                       argc > 3 ? std::atoll(argv[3]) : 300'000);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
