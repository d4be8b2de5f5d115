// Nonblocking collectives that a thread of the runtime carries out: nonblocking CASE [SEED]
#include "nonblocking_calls.hpp"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <functional>
#include <malloc.h>
#include <memory>
#include <random>
#include <thread>

namespace thalweg::test {
namespace {

/// Returns a communicator of its own, of the world's ranks, whose calls are planned from now on.
MPI_Comm make_comm(bool reversed = false) {
  const int rank = rank_of(MPI_COMM_WORLD);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, reversed ? -rank : rank, &comm);
  MPI_Barrier(comm);
  return comm;
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

std::atomic<int> expected_rounding = FE_TONEAREST, rounded_otherwise = 0;

/// Adds numbers, and counts calls that round otherwise than expected.
void add_and_look(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
  for (int i = 0; i < *count; ++i)
    static_cast<double*>(inout)[i] += static_cast<double*>(in)[i];
  if (std::fegetround() != expected_rounding) ++rounded_otherwise;
}

/// Reductions are combined in the floating-point environment in which they are started.
void arithmetic(unsigned /*seed*/) {
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(add_and_look, 1, &op);
  const double own = 1;
  for (const int rounding : {FE_UPWARD, FE_TONEAREST, FE_TOWARDZERO}) {
    expected_rounding = rounding;
    std::fesetround(rounding);
    double sum = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(&own, &sum, 1, MPI_DOUBLE, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(sum == size_of(MPI_COMM_WORLD), "the sum");
  }
  check(rounded_otherwise == 0, "reductions round as the program");
  MPI_Op_free(&op);
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

/// Forms whose arrays are spoilt as soon as the call has begun: planned calls have copies.
void spoilt(unsigned /*seed*/) {
  for (int number = 0; number < 20; ++number)
    for (const int kind : {6, 14, 15, 16, 17}) {
      const int root = number % size_of(MPI_COMM_WORLD);
      Pending it = start(MPI_COMM_WORLD, {.number = number,
                                          .kind = kind,
                                          .root = root,
                                          .count = 1 + 1000 * number,
                                          .spoils = true});
      wait(it);
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
  for (int round = 0; round < 12; ++round) // all of (root, waiting rank, size) for up to four ranks
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

/// What a library keeps as an attribute of a communicator.
struct Cache {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  MPI_Request request = MPI_REQUEST_NULL; ///< a persistent one that isn't active
};
int free_cache(MPI_Comm, int, void* value, void*) {
  auto* const cache = static_cast<Cache*>(value);
  MPI_Request_free(&cache->request);
  MPI_Type_free(&cache->type);
  MPI_Op_free(&cache->op);
  return MPI_SUCCESS;
}

/// A communicator is freed, and with it what is kept in its attribute, while an operation uses
/// that; then the handle of the persistent one is used again.
void cached(unsigned /*seed*/) {
  const int size = size_of(MPI_COMM_WORLD), rank = rank_of(MPI_COMM_WORLD), count = 1000;
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_cache, &keyval, nullptr);
  for (int round = 0; round < 40; ++round) {
    MPI_Comm comm = make_comm();
    Cache cache;
    Ints never(1, -1);
    THALWEG_PERSISTENT(Bcast)
    (never.data(), 1, MPI_INT, 0, comm, MPI_INFO_NULL, &cache.request);
    MPI_Type_contiguous(2, MPI_INT, &type_of_user);
    MPI_Type_commit(&type_of_user);
    cache.type = type_of_user;
    MPI_Op_create(add_pairs, 1, &cache.op);
    MPI_Comm_set_attr(comm, keyval, &cache);
    Ints in(2 * count, rank), out(2 * count);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(in.data(), out.data(), count, cache.type, cache.op, comm, &request);
    MPI_Comm_free(&comm);
    check(cache.type == MPI_DATATYPE_NULL && cache.op == MPI_OP_NULL, "the callback was called");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(out == Ints(2 * count, size * (size - 1) / 2), "allreduce");

    int sent = round, received = -1;
    MPI_Request requests[2];
    MPI_Send_init(&sent, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&received, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check(received == round && never[0] == -1, "a message to itself");
    for (MPI_Request& each : requests)
      MPI_Request_free(&each);
  }
  MPI_Comm_free_keyval(&keyval);
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
      THALWEG_PERSISTENT(Bcast)(out.data(), 1, MPI_INT, root(), comm, MPI_INFO_NULL, &request);
      break;
    case 1:
      THALWEG_PERSISTENT(Allreduce)
      (in.data(), out.data(), 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
      break;
    case 2:
      THALWEG_PERSISTENT(Alltoall)
      (in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, comm, MPI_INFO_NULL, &request);
      break;
    case 3:
#if MPI_VERSION >= 4
      MPI_Allgather_init_c(in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, comm, MPI_INFO_NULL,
                           &request);
#else
      THALWEG_PERSISTENT(Allgather)
      (in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, comm, MPI_INFO_NULL, &request);
#endif
      break;
    default:
      THALWEG_PERSISTENT(Barrier)(comm, MPI_INFO_NULL, &request);
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

/// Starts a persistent collective, waits for it and frees it.
int start_at_end(MPI_Comm, int, void* persistent, void*) {
  constexpr int round = 7;
  auto* const it = static_cast<Persistent*>(persistent);
  it->fill(round);
  MPI_Start(&it->request);
  MPI_Wait(&it->request, MPI_STATUS_IGNORE);
  it->verify(round);
  return MPI_Request_free(&it->request);
}

/// Persistent collectives are started while MPI frees a communicator, and in MPI_Finalize.
void in_callbacks(unsigned /*seed*/) {
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, start_at_end, &keyval, nullptr);
  for (int kind = 0; kind < 5; ++kind) {
    Persistent it(kind, MPI_COMM_WORLD);
    MPI_Comm comm = make_comm();
    MPI_Comm_set_attr(comm, keyval, &it);
    MPI_Comm_free(&comm);
    check(it.request == MPI_REQUEST_NULL, "the callback was called");
  }
  static Persistent last(1, MPI_COMM_WORLD); // lives until MPI_Finalize
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &last);
  MPI_Comm_free_keyval(&keyval);
}

void add_in_gaps(void* in, void* out, int* count, MPI_Datatype* /*type*/) {
  for (int i = 0; i < *count; ++i)
    static_cast<int*>(out)[2 * i] += static_cast<int*>(in)[2 * i];
}

/// Data with gaps is copied by messages of a rank to itself, while others complete the requests of
/// persistent collectives.
void persistent_with_gaps(unsigned /*seed*/) {
  const int size = size_of(MPI_COMM_WORLD), rank = rank_of(MPI_COMM_WORLD), count = 100;
  MPI_Datatype spread = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
  MPI_Type_commit(&spread);
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(add_in_gaps, 1, &op);
  std::vector<std::unique_ptr<Persistent>> all;
  for (int i = 0; i < 20; ++i)
    all.push_back(std::make_unique<Persistent>(i, MPI_COMM_WORLD));
  for (int round = 0; round < 5; ++round) {
    for (const auto& each : all)
      each->fill(round);
    // The last rank starts its own last, so that the others' requests are open meanwhile.
    const auto start_all = [&] {
      for (const auto& each : all)
        MPI_Start(&each->request);
    };
    if (rank != size - 1) start_all();
    std::vector<Ints> in(16, Ints(2 * count, rank)), out(16, Ints(2 * count, -1));
    std::vector<MPI_Request> requests(in.size());
    for (std::size_t i = 0; i < in.size(); ++i)
      MPI_Iallreduce(in[i].data(), out[i].data(), count, spread, op, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (const Ints& result : out)
      for (std::size_t i = 0; i < result.size(); ++i)
        check(result[i] == (i % 2 == 0 ? size * (size - 1) / 2 : -1), "allreduce");
    if (rank == size - 1) start_all();
    for (const auto& each : all) {
      MPI_Wait(&each->request, MPI_STATUS_IGNORE);
      each->verify(round);
    }
  }
  for (const auto& each : all)
    MPI_Request_free(&each->request);
  MPI_Op_free(&op);
  MPI_Type_free(&spread);
}

/// More operations than can go on at once.
void many(unsigned /*seed*/) {
  std::vector<Pending> pending;
  for (int call = 0; call < 2000; ++call)
    pending.push_back(start(MPI_COMM_WORLD, {.number = call, .kind = call % kinds, .count = 10}));
  for (Pending& it : pending)
    wait(it);
}

/// Returns the bytes that the process has allocated.
std::size_t allocated() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// The runtime keeps 128 MiB at most of what operations needed that went on at once. Each of these
/// copies its data, and none can end before the last rank has begun.
void memory(unsigned /*seed*/) {
  constexpr int operations = 8, block = 12 << 20; // as many as have lanes
  constexpr std::size_t most_kept = 128 << 20, of_mpi = 16 << 20;
  const int size = size_of(MPI_COMM_WORLD), rank = rank_of(MPI_COMM_WORLD);
  const std::size_t before = allocated();
  {
    std::vector<std::vector<char>> data;
    std::vector<MPI_Request> requests;
    if (rank == size - 1) MPI_Recv(nullptr, 0, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < operations; ++i) {
      data.emplace_back(static_cast<std::size_t>(block) * static_cast<std::size_t>(size));
      MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_BYTE, data.back().data(), block, MPI_BYTE, MPI_COMM_WORLD,
                    &requests.emplace_back());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300)); // until the helper has begun all
    if (rank == 0) MPI_Send(nullptr, 0, MPI_INT, size - 1, 7, MPI_COMM_WORLD);
    MPI_Waitall(operations, requests.data(), MPI_STATUSES_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const std::size_t more = allocated() - before;
  check(more <= most_kept + of_mpi, "it keeps " + std::to_string(more >> 20) + " MiB");
}

} // namespace
} // namespace thalweg::test

int main(int argc, char** argv) {
  using namespace thalweg::test;
  const std::vector<std::pair<std::string, void (*)(unsigned)>> cases = {
      {"persistent", persistent},
      {"persistent-many", persistent_many},
      {"persistent-uneven", persistent_uneven},
      {"persistent-with-gaps", persistent_with_gaps},
      {"in-callbacks", in_callbacks},
      {"random", random},
      {"each", each},
      {"arithmetic", arithmetic},
      {"uneven", uneven},
      {"spoilt", spoilt},
      {"single", each},
      {"new", new_communicator},
      {"orders", orders},
      {"progress", progress},
      {"freed", freed},
      {"cached", cached},
      {"threads", threads},
      {"many", many},
      {"memory", memory}};
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
