#include "runtime/setup/clocks.hpp"

#include "runtime/mpi/waiting.hpp"
#include "runtime/observe/clock.hpp"
#include "units/index.hpp"

#include <algorithm>
#include <array>

namespace thalweg::runtime {
namespace {

using observe::ClockReading;
using observe::monotonic_ns;

constexpr int questions_together = 3, questions_alone = 6;
constexpr std::int64_t long_ns = 3'000'000; ///< for the answers to questions that travel together
/// Hosts that ask at the same time: the answers of more would wait for each other.
constexpr std::size_t hosts_together = 64;
/// Error of a host's clock from which on its path is so long that more hosts may ask at once.
constexpr std::int64_t far_ns = 1'000'000;

/// What a rank tells rank 0: that it wants to know the time, or, at last, what it made of the
/// answers.
struct Word {
  std::int64_t is_last = 0;
  ClockReading reading{};
};

void send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  MPI_Request request = native.request_null;
  native.Isend(data, count, type, to, tag, comm, &request);
  await(request, MPI_STATUS_IGNORE);
}

int receive(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm) {
  MPI_Request request = native.request_null;
  MPI_Status status{};
  native.Irecv(data, count, type, from, tag, comm, &request);
  await(request, &status);
  return status.MPI_SOURCE;
}

/// Begins to tell the next ranks, at most `count`, that rank 0 answers: asked before, it would seem
/// to be far away. Nobody is waited for yet, since the first message between two ranks may need a
/// connection.
/// @param invitations one for each of the first askers, who are invited already
void invite(std::size_t count, const std::vector<int>& askers,
            std::vector<MPI_Request>& invitations, MPI_Comm comm, int tag) {
  static constexpr std::int64_t ready = 1;
  for (; count > 0 && invitations.size() < askers.size(); --count) {
    const int asker = askers[invitations.size()];
    invitations.push_back(native.request_null);
    native.Isend(&ready, 1, native.int64, asker, tag, comm, &invitations.back());
  }
}

/// Answers until all askers have told what they made of it. Returns it by their hosts. Whoever has
/// told it lets at least one other ask, so that all do, each once.
std::vector<ClockReading> answer(const std::vector<int>& askers,
                                 const std::vector<std::int32_t>& hosts, MPI_Comm comm, int tag) {
  std::vector<ClockReading> readings(askers.size() + 1);
  std::vector<MPI_Request> invitations;
  invite(hosts_together, askers, invitations, comm, tag);
  for (std::size_t left = askers.size(); left > 0;) {
    Word word;
    const int from = receive(&word, sizeof word, native.byte, MPI_ANY_SOURCE, tag, comm);
    const std::int64_t time_ns = monotonic_ns();
    if (word.is_last == 0) {
      send(&time_ns, 1, native.int64, from, tag, comm);
      continue;
    }
    readings[index(hosts[index(from)])] = word.reading;
    --left;
    // On long paths the askers would take long one after the other: twice as many in each turn.
    invite(word.reading.error_ns < far_ns ? 1 : 2, askers, invitations, comm, tag);
  }
  for (MPI_Request& invitation : invitations)
    await(invitation, MPI_STATUS_IGNORE);
  readings[index(hosts[0])] = {.at_ns = monotonic_ns()};
  return readings;
}

/// Puts that many questions at once, at most `questions_together`. Returns how long the answers
/// took.
std::int64_t ask(int questions, observe::ClockBounds& bounds, MPI_Comm comm, int tag) {
  std::array<std::int64_t, questions_together> before_ns{}, there_ns{};
  std::array<MPI_Request, questions_together> answers{};
  answers.fill(native.request_null);
  const auto count = index(questions);
  for (std::size_t i = 0; i < count; ++i)
    native.Irecv(&there_ns[i], 1, native.int64, 0, tag, comm, &answers[i]);
  for (std::size_t i = 0; i < count; ++i) {
    const Word question;
    before_ns[i] = monotonic_ns();
    send(&question, sizeof question, native.byte, 0, tag, comm);
  }
  std::int64_t after_ns = 0;
  for (std::size_t i = 0; i < count; ++i) {
    await(answers[i], MPI_STATUS_IGNORE);
    after_ns = monotonic_ns();
    bounds.add(before_ns[i], there_ns[i], after_ns);
  }
  return after_ns - before_ns.front();
}

void ask_and_tell(MPI_Comm comm, int tag) {
  observe::ClockBounds bounds;
  std::int64_t ready = 0;
  receive(&ready, 1, native.int64, 0, tag, comm);
  // Together they take as long as one, which counts between sites. On a short path they meet those
  // of other hosts, and each for itself is answered sooner.
  if (ask(questions_together, bounds, comm, tag) < long_ns)
    for (int i = 0; i < questions_alone; ++i)
      ask(1, bounds, comm, tag);
  const Word last{.is_last = 1, .reading = bounds.reading()};
  send(&last, sizeof last, native.byte, 0, tag, comm);
}

/// Returns the first rank of each host but rank 0's. Hosts are numbered as they appear.
std::vector<int> first_ranks(const std::vector<std::int32_t>& hosts) {
  std::vector<int> first;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank)
    if (index(hosts[rank]) > first.size()) first.push_back(static_cast<int>(rank));
  return first;
}

} // namespace

std::vector<ClockReading> compare_clocks(const std::vector<std::int32_t>& hosts, MPI_Comm comm,
                                         int tag) {
  int rank = 0;
  native.Comm_rank(comm, &rank);
  const std::vector<int> askers = first_ranks(hosts);
  std::vector<ClockReading> readings(askers.size() + 1);
  if (rank == 0)
    readings = answer(askers, hosts, comm, tag);
  else if (std::ranges::find(askers, rank) != askers.end())
    ask_and_tell(comm, tag);
  native.Bcast(readings.data(), static_cast<int>(readings.size() * sizeof readings[0]), native.byte,
               0, comm);
  return readings;
}

} // namespace thalweg::runtime
