#include "probe/channel.hpp"

#include <algorithm>
#include <ctime>
#include <limits>
#include <sched.h>

namespace thalweg::probe {
namespace {

constexpr Nanoseconds shortest_sleep = 50'000, longest_sleep = 2'000'000;
constexpr int tags_per_lane = 16; // more than there are Tags

int tag_of(Tag tag, int lane = 0) { return lane * tags_per_lane + static_cast<int>(tag); }

/// Sleeps longer and longer, since after a long wait a prompt reaction matters less.
class Backoff {
public:
  void operator()() {
    sleep_until(now() + _sleep);
    _sleep = std::min(2 * _sleep, longest_sleep);
  }

private:
  Nanoseconds _sleep = shortest_sleep;
};

[[noreturn]] void give_up(MPI_Request& request, int peer) {
  MPI_Cancel(&request);
  MPI_Request_free(&request);
  throw Silence(peer);
}

} // namespace

Nanoseconds now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void sleep_until(Nanoseconds time) {
  const timespec when{time / 1'000'000'000, time % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
}

Channel::Channel(MPI_Comm comm, Nanoseconds patience) : _comm(comm), _patience(patience) {
  MPI_Comm_rank(comm, &_rank);
  MPI_Comm_size(comm, &_size);
}

void Channel::send(int to, Tag tag, const Words& words) const {
  send(to, tag, words, now() + _patience);
}

void Channel::send(int to, Tag tag, const Words& words, Nanoseconds deadline) const {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(words.data(), static_cast<int>(words.size()), MPI_INT64_T, to, tag_of(tag), _comm,
            &request);
  Backoff backoff;
  for (int done = 0;; backoff()) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    if (now() > deadline) throw Silence(to);
  }
}

Words Channel::receive(int from, Tag tag, Nanoseconds deadline) const {
  Backoff backoff;
  MPI_Status status;
  for (int found = 0;; backoff()) {
    MPI_Iprobe(from, tag_of(tag), _comm, &found, &status);
    if (found != 0) break;
    if (now() > deadline) throw Silence(from);
  }
  int count = 0;
  MPI_Get_count(&status, MPI_INT64_T, &count);
  Words words(static_cast<std::size_t>(count));
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(words.data(), count, MPI_INT64_T, from, tag_of(tag), _comm, &request);
  complete(request, from);
  return words;
}

Words Channel::receive(int from, Tag tag) const {
  return receive(from, tag, std::numeric_limits<Nanoseconds>::max());
}

MPI_Request Channel::post_send(const void* data, Size size, int to, Tag tag, int lane) const {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(data, static_cast<int>(size), MPI_BYTE, to, tag_of(tag, lane), _comm, &request);
  return request;
}

MPI_Request Channel::post_receive(void* data, Size size, int from, Tag tag, int lane) const {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(data, static_cast<int>(size), MPI_BYTE, from, tag_of(tag, lane), _comm, &request);
  return request;
}

Look Channel::complete(MPI_Request& request, int peer, Nanoseconds not_before) const {
  const auto start = now();
  sleep_until(not_before);
  for (bool first = true;; first = false) {
    int done = 0;
    const auto look = now();
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    const auto end = now();
    if (done != 0) return {end - look, first};
    if (end > start + _patience) give_up(request, peer);
    sched_yield();
  }
}

void Channel::await(MPI_Request& request, int peer) const {
  const auto deadline = now() + _patience;
  Backoff backoff;
  for (int done = 0;; backoff()) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    if (now() > deadline) give_up(request, peer);
  }
}

void Channel::linger(Nanoseconds time) const {
  for (const auto end = now() + time; now() < end; sleep_until(now() + shortest_sleep)) {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, _comm, &found, MPI_STATUS_IGNORE);
  }
}

} // namespace thalweg::probe
