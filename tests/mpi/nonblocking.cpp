// Nonblocking collectives that a thread of the runtime carries out: nonblocking CASE [SEED]
#include "check.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <thread>

namespace thalweg::test {
namespace {

using Ints = std::vector<int>;

/// Returns a communicator of its own, of the world's ranks, whose calls are planned from now on.
MPI_Comm make_comm(bool reversed = false) {
  const int rank = rank_of(MPI_COMM_WORLD);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, reversed ? -rank : rank, &comm);
  MPI_Barrier(comm);
  return comm;
}

/// Returns the datatype of an int that is followed by room for another.
MPI_Datatype with_gaps() {
  static const MPI_Datatype type = [] {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &made);
    MPI_Type_commit(&made);
    return made;
  }();
  return type;
}

/// A collective in progress.
struct Pending {
  MPI_Request request = MPI_REQUEST_NULL;
  std::function<void()> verify; ///< called when it is complete; keeps the buffers
  std::function<void()> reset;  ///< makes the result as it was before the start
};

/// What a call does, equal on all ranks.
struct Draw {
  int number = 0; ///< of the call
  int kind = 0, root = 0, count = 1;
  bool in_place = false;
  bool gaps = false;       ///< between the elements of blocks of different lengths
  bool persistent = false; ///< as a persistent collective, of those whose blocks differ
};

constexpr int equal_kinds = 14, kinds = 19;

#if MPI_VERSION >= 4
#define THALWEG_PERSISTENT(function) function
#else
#define THALWEG_PERSISTENT(function) nullptr
#endif

/// Starts a collective on `comm`, with buffers of its own.
class Starter {
public:
  Starter(MPI_Comm comm, const Draw& draw)
      : _comm(comm), _draw(draw), _rank(rank_of(comm)), _ranks(size_of(comm)),
        _all(static_cast<std::size_t>(_ranks * draw.count)),
        _one(static_cast<std::size_t>(draw.count)) {}

  Pending start() {
    switch (_draw.kind) {
    case 0:
      return bcast();
    case 1:
      return reduce();
    case 2:
      return allreduce();
    case 3:
      return prefix(true);
    case 4:
      return prefix(false);
    case 5:
      return reduce_scatter(true);
    case 6:
      return reduce_scatter(false);
    case 7:
      return gather();
    case 8:
      return scatter();
    case 9:
      return allgather(true);
    case 10:
      return allgather(false);
    case 11:
      return alltoall(true);
    case 12:
      return alltoall(false);
    case 13:
      MPI_Ibarrier(_comm, &_pending.request);
      _pending.verify = [] {};
      return std::move(_pending);
    case 14:
      return gatherv();
    case 15:
      return scatterv();
    case 16:
      return allgatherv();
    case 17:
      return alltoallv();
    default:
      return alltoallw();
    }
  }

private:
  /// Returns element `i` of what `from` gives to `to`.
  [[nodiscard]] int value(int from, int to, int i) const {
    return (_draw.number * 7 + from * 131 + to * 17 + i * 3) % 10007;
  }
  /// Returns what `from` gives to `to`.
  [[nodiscard]] Ints block(int from, int to) const {
    Ints result;
    for (int i = 0; i < _draw.count; ++i)
      result.push_back(value(from, to, i));
    return result;
  }
  /// Returns the sum of what the ranks in [0, end) give to `to`.
  [[nodiscard]] Ints sum(int end, int to) const {
    Ints result(_one);
    for (int from = 0; from < end; ++from)
      for (int i = 0; i < _draw.count; ++i)
        result[static_cast<std::size_t>(i)] += value(from, to, i);
    return result;
  }
  /// Returns the blocks of all ranks, one after another.
  template <class Block>
  [[nodiscard]] Ints each(const Block& block) const {
    Ints result;
    for (int rank = 0; rank < _ranks; ++rank) {
      const Ints one = block(rank);
      result.insert(result.end(), one.begin(), one.end());
    }
    return result;
  }
  template <class Data>
  Data& keep(Data data) {
    auto kept = std::make_shared<Data>(std::move(data));
    _kept.push_back(kept);
    return *kept;
  }
  /// Lets `out` be compared with what is expected.
  Pending expect(Ints& out, Ints expected, const char* what) {
    _pending.reset = [&out, before = out] { out = before; };
    _pending.verify = [kept = std::move(_kept), &out, expected = std::move(expected), what,
                       number = _draw.number] {
      check(out == expected, std::string(what) + " number " + std::to_string(number));
    };
    return std::move(_pending);
  }
  Ints& counts() { return keep(Ints(static_cast<std::size_t>(_ranks), _draw.count)); }
  Ints& places() {
    Ints& places = keep(Ints());
    for (int rank = 0; rank < _ranks; ++rank)
      places.push_back(rank * _draw.count);
    return places;
  }

  Pending bcast() {
    Ints& data = keep(_rank == _draw.root ? block(_draw.root, 0) : _one);
    MPI_Ibcast(data.data(), _draw.count, MPI_INT, _draw.root, _comm, &_pending.request);
    return expect(data, block(_draw.root, 0), "bcast");
  }
  Pending reduce() {
    Ints &in = keep(block(_rank, 0)), &out = keep(_one);
    MPI_Ireduce(in.data(), out.data(), _draw.count, MPI_INT, MPI_SUM, _draw.root, _comm,
                &_pending.request);
    return expect(out, _rank == _draw.root ? sum(_ranks, 0) : _one, "reduce");
  }
  Pending allreduce() {
    Ints &in = keep(block(_rank, 0)), &out = keep(_draw.in_place ? in : _one);
    MPI_Iallreduce(_draw.in_place ? MPI_IN_PLACE : in.data(), out.data(), _draw.count, MPI_INT,
                   MPI_SUM, _comm, &_pending.request);
    return expect(out, sum(_ranks, 0), "allreduce");
  }
  Pending prefix(bool inclusive) {
    Ints &in = keep(block(_rank, 0)), &out = keep(_one);
    (inclusive ? MPI_Iscan : MPI_Iexscan)(in.data(), out.data(), _draw.count, MPI_INT, MPI_SUM,
                                          _comm, &_pending.request);
    return expect(out, sum(_rank + (inclusive ? 1 : 0), 0), inclusive ? "scan" : "exscan");
  }
  Pending reduce_scatter(bool equal) {
    Ints &in = keep(each([&](int to) { return block(_rank, to); })), &out = keep(_one);
    if (equal)
      MPI_Ireduce_scatter_block(in.data(), out.data(), _draw.count, MPI_INT, MPI_SUM, _comm,
                                &_pending.request);
    else
      MPI_Ireduce_scatter(in.data(), out.data(), counts().data(), MPI_INT, MPI_SUM, _comm,
                          &_pending.request);
    return expect(out, sum(_ranks, _rank), "reduce_scatter");
  }
  Pending gather() {
    Ints &in = keep(block(_rank, 0)), &out = keep(_all);
    MPI_Igather(in.data(), _draw.count, MPI_INT, out.data(), _draw.count, MPI_INT, _draw.root,
                _comm, &_pending.request);
    return expect(out, _rank == _draw.root ? each([&](int from) { return block(from, 0); }) : _all,
                  "gather");
  }
  Pending scatter() {
    Ints &in = keep(each([&](int to) { return block(_draw.root, to); })), &out = keep(_one);
    MPI_Iscatter(in.data(), _draw.count, MPI_INT, out.data(), _draw.count, MPI_INT, _draw.root,
                 _comm, &_pending.request);
    return expect(out, block(_draw.root, _rank), "scatter");
  }
  Pending allgather(bool equal) {
    Ints &in = keep(block(_rank, 0)), &out = keep(_all);
    if (equal)
      MPI_Iallgather(in.data(), _draw.count, MPI_INT, out.data(), _draw.count, MPI_INT, _comm,
                     &_pending.request);
    else
      MPI_Iallgatherv(in.data(), _draw.count, MPI_INT, out.data(), counts().data(), places().data(),
                      MPI_INT, _comm, &_pending.request);
    return expect(out, each([&](int from) { return block(from, 0); }), "allgather");
  }
  Pending alltoall(bool equal) {
    Ints& out = keep(each([&](int to) { return block(_rank, to); }));
    Ints& in = _draw.in_place && equal ? out : keep(out);
    if (equal)
      MPI_Ialltoall(&in == &out ? MPI_IN_PLACE : in.data(), _draw.count, MPI_INT, out.data(),
                    _draw.count, MPI_INT, _comm, &_pending.request);
    else
      MPI_Ialltoallv(in.data(), counts().data(), places().data(), MPI_INT, out.data(),
                     counts().data(), places().data(), MPI_INT, _comm, &_pending.request);
    return expect(out, each([&](int from) { return block(from, _rank); }), "alltoall");
  }

  // Blocks of different lengths, some of them empty.

  /// A buffer with a block for each rank, the last rank's first, with room between them.
  struct Blocks {
    Ints data;
    Ints counts, displacements; ///< as in a v-form
    Ints bytes;                 ///< displacements of an alltoallw
    std::vector<MPI_Datatype> types;
  };
  /// Returns how many elements `from` gives to `to`.
  [[nodiscard]] int length(int from, int to) const {
    const int mixed = from * 7 + to * 11 + _draw.number;
    return mixed % 3 == 0 ? 0 : mixed % (_draw.count + 1);
  }
  /// Returns what `from` gives to `to`.
  [[nodiscard]] Ints uneven(int from, int to) const {
    Ints result;
    for (int i = 0; i < length(from, to); ++i)
      result.push_back(value(from, to, i));
    return result;
  }
  /// Ints from one element to the next, in the block of a rank.
  [[nodiscard]] int stride(int rank) const {
    const bool mixed = _draw.kind == kinds - 1; // Only an alltoallw has a type for each block.
    return _draw.gaps && (!mixed || rank % 2 == 0) ? 2 : 1;
  }
  /// Puts the ranks' blocks into a buffer.
  template <class Block>
  [[nodiscard]] Blocks put(const Block& block) const {
    Blocks blocks;
    const auto all = static_cast<std::size_t>(_ranks);
    blocks.counts.resize(all);
    blocks.displacements.resize(all);
    blocks.bytes.resize(all);
    blocks.types.assign(all, MPI_INT);
    for (int rank = _ranks - 1; rank >= 0; --rank) {
      const auto at = static_cast<std::size_t>(rank);
      const Ints elements = block(rank);
      const std::size_t begin = blocks.data.size();
      blocks.counts[at] = static_cast<int>(elements.size());
      blocks.displacements[at] = static_cast<int>(begin) / stride(rank);
      blocks.bytes[at] = static_cast<int>(begin * sizeof(int));
      blocks.data.resize(begin + 2 * elements.size() + 2, -1);
      for (std::size_t i = 0; i < elements.size(); ++i)
        blocks.data[begin + i * static_cast<std::size_t>(stride(rank))] = elements[i];
      if (stride(rank) == 2) blocks.types[at] = with_gaps();
    }
    return blocks;
  }
  /// Returns the same buffer without data.
  Blocks& keep_empty(const Blocks& blocks) {
    Blocks& empty = keep(blocks);
    empty.data.assign(blocks.data.size(), -1);
    return empty;
  }
  /// Starts a call, as a nonblocking or a persistent collective.
  template <class Nonblocking, class Persistent, class... Arguments>
  void call(Nonblocking nonblocking, [[maybe_unused]] Persistent persistent,
            Arguments... arguments) {
    if constexpr (!std::is_same_v<Persistent, std::nullptr_t>)
      if (_draw.persistent) {
        persistent(arguments..., _comm, MPI_INFO_NULL, &_pending.request);
        return;
      }
    nonblocking(arguments..., _comm, &_pending.request);
  }
  Pending gatherv() {
    const auto from_all = [&](int from) { return uneven(from, 0); };
    Ints& in = keep(uneven(_rank, 0));
    const Blocks expected = put(from_all);
    Blocks& out = keep_empty(expected);
    call(MPI_Igatherv, THALWEG_PERSISTENT(MPI_Gatherv_init), in.data(), length(_rank, 0), MPI_INT,
         out.data.data(), out.counts.data(), out.displacements.data(), out.types[0], _draw.root);
    return expect(out.data, _rank == _draw.root ? expected.data : Ints(out.data), "gatherv");
  }
  Pending scatterv() {
    Blocks& in = keep(put([&](int to) { return uneven(_draw.root, to); }));
    const Ints expected = uneven(_draw.root, _rank);
    Ints& out = keep(Ints(expected.size(), -1));
    call(MPI_Iscatterv, THALWEG_PERSISTENT(MPI_Scatterv_init), in.data.data(), in.counts.data(),
         in.displacements.data(), in.types[0], out.data(), length(_draw.root, _rank), MPI_INT,
         _draw.root);
    return expect(out, expected, "scatterv");
  }
  Pending allgatherv() {
    Ints& in = keep(uneven(_rank, 0));
    const Blocks expected = put([&](int from) { return uneven(from, 0); });
    Blocks& out = keep_empty(expected);
    call(MPI_Iallgatherv, THALWEG_PERSISTENT(MPI_Allgatherv_init), in.data(), length(_rank, 0),
         MPI_INT, out.data.data(), out.counts.data(), out.displacements.data(), out.types[0]);
    return expect(out.data, expected.data, "allgatherv");
  }
  Pending alltoallv() {
    Blocks& in = keep(put([&](int to) { return uneven(_rank, to); }));
    const Blocks expected = put([&](int from) { return uneven(from, _rank); });
    Blocks& out = keep_empty(expected);
    call(MPI_Ialltoallv, THALWEG_PERSISTENT(MPI_Alltoallv_init), in.data.data(), in.counts.data(),
         in.displacements.data(), in.types[0], out.data.data(), out.counts.data(),
         out.displacements.data(), out.types[0]);
    return expect(out.data, expected.data, "alltoallv");
  }
  Pending alltoallw() {
    Blocks& in = keep(put([&](int to) { return uneven(_rank, to); }));
    const Blocks expected = put([&](int from) { return uneven(from, _rank); });
    Blocks& out = keep_empty(expected);
    call(MPI_Ialltoallw, THALWEG_PERSISTENT(MPI_Alltoallw_init), in.data.data(), in.counts.data(),
         in.bytes.data(), in.types.data(), out.data.data(), out.counts.data(), out.bytes.data(),
         out.types.data());
    return expect(out.data, expected.data, "alltoallw");
  }

  MPI_Comm _comm;
  Draw _draw;
  int _rank, _ranks;
  Ints _all, _one;
  Pending _pending;
  std::vector<std::shared_ptr<void>> _kept;
};

Pending start(MPI_Comm comm, const Draw& draw) { return Starter(comm, draw).start(); }

void wait(Pending& pending) {
  MPI_Wait(&pending.request, MPI_STATUS_IGNORE);
  check(pending.request == MPI_REQUEST_NULL, "a complete request is null");
  pending.verify();
}

/// Completes some of the operations, by a function of MPI that the rank draws for itself.
void complete_some(std::vector<Pending>& pending, std::minstd_rand& own) {
  const int count = static_cast<int>(pending.size());
  std::vector<MPI_Request> requests;
  for (const Pending& it : pending)
    requests.push_back(it.request);
  Ints done(pending.size());
  int number = 0, flag = 0;
  switch (own() % 5) {
  case 0: // one that needn't be the oldest
    number = 1;
    done[0] = static_cast<int>(own() % pending.size());
    MPI_Wait(&requests[static_cast<std::size_t>(done[0])], MPI_STATUS_IGNORE);
    break;
  case 1:
    number = 1;
    MPI_Waitany(count, requests.data(), done.data(), MPI_STATUS_IGNORE);
    break;
  case 2:
    MPI_Testsome(count, requests.data(), &number, done.data(), MPI_STATUSES_IGNORE);
    break;
  case 3:
    done[0] = static_cast<int>(own() % pending.size());
    while (flag == 0)
      MPI_Request_get_status(requests[static_cast<std::size_t>(done[0])], &flag, MPI_STATUS_IGNORE);
    flag = 0;
    MPI_Test(&requests[static_cast<std::size_t>(done[0])], &flag, MPI_STATUS_IGNORE);
    check(flag != 0, "what Request_get_status finds complete is");
    number = 1;
    break;
  default:
    MPI_Waitsome(count, requests.data(), &number, done.data(), MPI_STATUSES_IGNORE);
  }
  std::sort(done.begin(), done.begin() + number, std::greater<>());
  for (int i = 0; i < number; ++i) {
    const auto at = static_cast<std::size_t>(done[static_cast<std::size_t>(i)]);
    check(requests[at] == MPI_REQUEST_NULL, "a complete request is null");
    pending[at].verify();
    pending.erase(pending.begin() + done[static_cast<std::size_t>(i)]);
  }
}

/// Passes a number around the ring.
void exchange(MPI_Comm comm, int number) {
  const int rank = rank_of(comm), size = size_of(comm);
  const int own = rank * 1000 + number, left = (rank + size - 1) % size;
  int got = -1;
  MPI_Sendrecv(&own, 1, MPI_INT, (rank + 1) % size, number % 100, &got, 1, MPI_INT, left,
               number % 100, comm, MPI_STATUS_IGNORE);
  check(got == left * 1000 + number, "sendrecv");
}

void blocking(MPI_Comm comm, int number) {
  const int rank = rank_of(comm), size = size_of(comm), root = number % size;
  const int own = rank + number;
  int sum = 0, data = rank == root ? number : -1;
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm);
  check(sum == size * (size - 1) / 2 + size * number, "blocking allreduce");
  MPI_Bcast(&data, 1, MPI_INT, root, comm);
  check(data == number, "blocking bcast");
}

/// Random operations on some communicators, with blocking collectives and messages in between.
/// @param seed equal on all ranks
void sequence(const std::vector<MPI_Comm>& comms, unsigned seed, int calls) {
  std::minstd_rand shared(seed + 1),
      own(seed * 100 + 7 + static_cast<unsigned>(rank_of(MPI_COMM_WORLD)));
  const auto draw_below = [&](int end) {
    return static_cast<int>(shared() % static_cast<unsigned>(end));
  };
  std::vector<Pending> pending;
  for (int call = 0; call < calls; ++call) {
    const MPI_Comm comm =
        comms[static_cast<std::size_t>(draw_below(static_cast<int>(comms.size())))];
    const Draw draw{.number = call,
                    .kind = draw_below(kinds),
                    .root = draw_below(size_of(comm)),
                    .count = draw_below(20) == 0 ? 20000 : 1 + draw_below(100),
                    .in_place = draw_below(2) == 0,
                    .gaps = draw_below(2) == 0};
    const int also = draw_below(10);
    pending.push_back(start(comm, draw));
    if (also == 0) blocking(comm, call);
    if (also == 1) exchange(comm, call);
    while (pending.size() > 20 || (!pending.empty() && own() % 3 == 0))
      complete_some(pending, own);
  }
  while (!pending.empty())
    complete_some(pending, own);
}

void random(unsigned seed) {
  const MPI_Comm one = make_comm(), other = make_comm(true);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank_of(MPI_COMM_WORLD) % 2, 0, &half);
  MPI_Barrier(half);
  sequence({MPI_COMM_WORLD, one, other}, seed, 1000);
  sequence({half}, seed, 300);
  for (MPI_Comm comm : {one, other, half})
    MPI_Comm_free(&comm);
}

/// Each kind of collective once on MPI_COMM_WORLD.
void each(unsigned /*seed*/) {
  for (int kind = 0; kind < kinds; ++kind) {
    Pending it = start(MPI_COMM_WORLD, {.number = kind, .kind = kind, .root = 1, .count = 5});
    wait(it);
  }
}

/// Forms whose blocks have different lengths, some of them none, one at a time.
void uneven(unsigned /*seed*/) {
  for (int number = 0; number < 40; ++number)
    for (int kind = equal_kinds; kind < kinds; ++kind) {
      const int root = number % size_of(MPI_COMM_WORLD);
      for (const int count : {0, 1, 7, 30000}) {
        Pending it = start(MPI_COMM_WORLD, {.number = number,
                                            .kind = kind,
                                            .root = root,
                                            .count = count,
                                            .gaps = number % 2 == 0});
        wait(it);
      }
    }
}

/// The same collective on a communicator before and after it is set up.
void new_communicator(unsigned /*seed*/) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int round = 0; round < 2; ++round) {
    Pending it = start(comm, {.number = round, .kind = 2, .count = 5});
    wait(it);
    MPI_Barrier(comm);
    MPI_Barrier(comm);
  }
  MPI_Comm_free(&comm);
}

/// Ranks start and complete operations on several communicators in different orders.
void orders(unsigned seed) {
  const std::vector<MPI_Comm> comms = {MPI_COMM_WORLD, make_comm(), make_comm(true)};
  std::minstd_rand own(seed * 100 + static_cast<unsigned>(rank_of(MPI_COMM_WORLD)));
  for (int round = 0; round < 100; ++round) {
    Ints order = {0, 1, 2};
    std::shuffle(order.begin(), order.end(), own);
    std::vector<Pending> pending(order.size());
    for (const int i : order) // large, so that no rank is done without the others
      pending[static_cast<std::size_t>(i)] =
          start(comms[static_cast<std::size_t>(i)],
                {.number = round, .kind = (round + i) % kinds, .count = 20000});
    std::shuffle(order.begin(), order.end(), own);
    for (const int i : order)
      wait(pending[static_cast<std::size_t>(i)]);
  }
  for (MPI_Comm comm : {comms[1], comms[2]})
    MPI_Comm_free(&comm);
}

/// A rank waits in MPI_Recv for a message that is sent only once its own operations, which it
/// doesn't wait for before, have gone on.
void progress(unsigned /*seed*/) {
  const int rank = rank_of(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  for (int round = 0; round < 20; ++round)
    for (int kind = 0; kind < kinds; ++kind) {
      const int waiting = 1 + round % (size - 1), count = round % 2 == 0 ? 3 : 100000;
      const Draw draw{.number = round, .kind = kind, .root = round % size, .count = count};
      Pending it = start(MPI_COMM_WORLD, draw);
      Pending sum = start(MPI_COMM_WORLD, {.number = round, .kind = 2, .count = count});
      int message = round;
      if (rank == waiting) {
        MPI_Recv(&message, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(message == round, "message");
      }
      wait(it);
      wait(sum);
      if (rank == 0) MPI_Send(&message, 1, MPI_INT, waiting, 5, MPI_COMM_WORLD);
    }
}

MPI_Datatype type_of_user = MPI_DATATYPE_NULL;
std::atomic<int> type_is_wrong{0};
void add_pairs(void* in, void* out, int* count, MPI_Datatype* type) {
  if (*type != type_of_user) ++type_is_wrong;
  for (int i = 0; i < 2 * *count; ++i)
    static_cast<int*>(out)[i] += static_cast<int*>(in)[i];
}

/// Communicators, datatypes and operations are freed while operations that use them go on.
void freed(unsigned /*seed*/) {
  const int size = size_of(MPI_COMM_WORLD);
  for (int round = 0; round < 40; ++round) {
    MPI_Comm comm = make_comm(round % 2 == 0);
    const int rank = rank_of(comm), count = 1000;
    MPI_Datatype gaps = MPI_DATATYPE_NULL;
    MPI_Type_vector(count, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Type_contiguous(2, MPI_INT, &type_of_user);
    MPI_Type_commit(&type_of_user);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(add_pairs, 1, &op);
    Ints data(2 * count, rank == 0 ? round : -1), in(2 * count, rank), out(2 * count);
    MPI_Request requests[3];
    MPI_Ibcast(data.data(), 1, gaps, 0, comm, &requests[0]);
    MPI_Iallreduce(in.data(), out.data(), count, type_of_user, op, comm, &requests[1]);
    MPI_Ibarrier(comm, &requests[2]);
    MPI_Datatype mine = type_of_user;
    MPI_Type_free(&gaps);
    MPI_Type_free(&mine);
    MPI_Op_free(&op);
    MPI_Comm_free(&comm);
    check(gaps == MPI_DATATYPE_NULL && mine == MPI_DATATYPE_NULL && op == MPI_OP_NULL,
          "handles of what was freed are null");
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2 * count - 1; ++i)
      check(data[static_cast<std::size_t>(i)] == (i % 2 == 0 || rank == 0 ? round : -1), "bcast");
    check(out == Ints(2 * count, size * (size - 1) / 2), "allreduce");
  }
  check(type_is_wrong == 0, "the operation gets the program's datatype");
}

/// Threads with a communicator each.
void threads(unsigned seed) {
  std::vector<MPI_Comm> comms;
  for (int i = 0; i < 3; ++i)
    comms.push_back(make_comm(i == 1));
  std::vector<std::thread> running;
  for (unsigned i = 0; i < comms.size(); ++i)
    running.emplace_back([&, i] { sequence({comms[i]}, seed + i, 200); });
  for (std::thread& thread : running)
    thread.join();
  for (MPI_Comm& comm : comms)
    MPI_Comm_free(&comm);
}

#if MPI_VERSION >= 4
/// A persistent collective with its buffers, whose data depends on the round.
struct Persistent {
  MPI_Request request = MPI_REQUEST_NULL;
  Ints in, out;
  int kind = 0;
  MPI_Comm comm = MPI_COMM_NULL;

  Persistent(int its_kind, MPI_Comm its_comm) : kind(its_kind), comm(its_comm) {
    const auto ranks = static_cast<std::size_t>(size_of(comm));
    in.resize(ranks);
    out.resize(ranks);
    switch (kind % 5) {
    case 0:
      MPI_Bcast_init(out.data(), 1, MPI_INT, root(), comm, MPI_INFO_NULL, &request);
      break;
    case 1:
      MPI_Allreduce_init(in.data(), out.data(), 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
      break;
    case 2:
      MPI_Alltoall_init(in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, comm, MPI_INFO_NULL,
                        &request);
      break;
    case 3:
      MPI_Allgather_init_c(in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, comm, MPI_INFO_NULL,
                           &request);
      break;
    default:
      MPI_Barrier_init(comm, MPI_INFO_NULL, &request);
    }
  }
  [[nodiscard]] int root() const { return kind % size_of(comm); }
  [[nodiscard]] int value(int from, int to, int round) const {
    return 1000 * round + 100 * from + 10 * to + kind;
  }
  /// Called before it is started.
  void fill(int round) {
    const int rank = rank_of(comm);
    out.assign(out.size(), -1);
    for (int to = 0; to < size_of(comm); ++to)
      in[static_cast<std::size_t>(to)] = value(rank, to, round);
    if (rank == root()) out[0] = value(rank, 0, round);
  }
  void verify(int round) const {
    const int rank = rank_of(comm), size = size_of(comm);
    int sum = 0;
    for (int from = 0; from < size; ++from) {
      sum += value(from, 0, round);
      const int got = out[static_cast<std::size_t>(from)];
      if (kind % 5 == 2) check(got == value(from, rank, round), "alltoall");
      if (kind % 5 == 3) check(got == value(from, 0, round), "allgather");
    }
    if (kind % 5 == 0) check(out[0] == value(root(), 0, round), "bcast");
    if (kind % 5 == 1) check(out[0] == sum, "allreduce");
  }
};

/// Persistent collectives, started and completed in other orders on each rank.
/// @param count of them on MPI_COMM_WORLD; as many on another communicator
void persistent(int count, unsigned seed) {
  std::minstd_rand own(seed * 100 + static_cast<unsigned>(rank_of(MPI_COMM_WORLD)));
  MPI_Comm comm = make_comm();
  std::vector<std::unique_ptr<Persistent>> all;
  for (int i = 0; i < count; ++i)
    for (const MPI_Comm its_comm : {MPI_COMM_WORLD, comm})
      all.push_back(std::make_unique<Persistent>(i, its_comm));
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  for (int round = 0; round < 20; ++round) {
    std::shuffle(order.begin(), order.end(), own);
    std::vector<MPI_Request> requests;
    for (const std::size_t i : order) {
      all[i]->fill(round);
      requests.push_back(all[i]->request);
    }
    if (round % 2 == 0)
      MPI_Startall(static_cast<int>(requests.size()), requests.data());
    else
      for (MPI_Request& request : requests)
        MPI_Start(&request);
    if (round % 3 == 0) blocking(MPI_COMM_WORLD, round);
    Pending more = start(MPI_COMM_WORLD, {.number = round, .kind = 2, .count = 100});
    for (std::size_t left = requests.size(); left > 0; --left) {
      int done = -1;
      MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUS_IGNORE);
      check(done >= 0 && done < static_cast<int>(requests.size()), "one of them is complete");
      all[order[static_cast<std::size_t>(done)]]->verify(round);
    }
    wait(more);
  }
  for (auto& each : all)
    MPI_Request_free(&each->request);
  MPI_Comm_free(&comm);
}
void persistent(unsigned seed) { persistent(10, seed); }

/// Persistent forms whose blocks have different lengths, all started again and again.
void persistent_uneven(unsigned /*seed*/) {
  std::vector<Pending> all;
  for (int kind = equal_kinds; kind < kinds; ++kind)
    for (const bool gaps : {false, true})
      all.push_back(start(MPI_COMM_WORLD, {.number = kind,
                                           .kind = kind,
                                           .root = 1,
                                           .count = 100,
                                           .gaps = gaps,
                                           .persistent = true}));
  for (int round = 0; round < 20; ++round) {
    for (Pending& it : all) {
      it.reset();
      MPI_Start(&it.request);
    }
    for (Pending& it : all) {
      MPI_Wait(&it.request, MPI_STATUS_IGNORE);
      it.verify();
    }
  }
  for (Pending& it : all)
    MPI_Request_free(&it.request);
}
/// More than have lanes.
void persistent_many(unsigned seed) { persistent(60, seed); }
#endif

/// More operations than can go on at once.
void many(unsigned /*seed*/) {
  std::vector<Pending> pending;
  for (int call = 0; call < 2000; ++call)
    pending.push_back(start(MPI_COMM_WORLD, {.number = call, .kind = call % kinds, .count = 10}));
  for (Pending& it : pending)
    wait(it);
}

} // namespace
} // namespace thalweg::test

int main(int argc, char** argv) {
  using namespace thalweg::test;
  const std::vector<std::pair<std::string, void (*)(unsigned)>> cases = {
#if MPI_VERSION >= 4
    {"persistent", persistent},
    {"persistent-many", persistent_many},
    {"persistent-uneven", persistent_uneven},
#endif
    {"random", random},
    {"each", each},
    {"uneven", uneven},
    {"single", each},
    {"new", new_communicator},
    {"orders", orders},
    {"progress", progress},
    {"freed", freed},
    {"threads", threads},
    {"many", many}
  };
  const std::string wanted = argc > 1 ? argv[1] : "";
  const unsigned seed = argc > 2 ? static_cast<unsigned>(std::stoul(argv[2])) : 1;
  int level = 0;
  const int wanted_level = wanted == "single" ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
  MPI_Init_thread(&argc, &argv, wanted_level, &level);
  check(level == wanted_level, "the thread level is given");
  bool known = false;
  for (const auto& [name, run] : cases)
    if (name == wanted) {
      known = true;
      context = name;
      run(seed);
    }
  check(known, "no case '" + wanted + "'");
  MPI_Datatype gaps = with_gaps();
  MPI_Type_free(&gaps);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
