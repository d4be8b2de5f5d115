#include "probe/transfer.hpp"

#include "probe/arrivals.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <sched.h>

namespace thalweg::probe {
namespace {

/// Messages of a burst with a limit that its sender hands to the MPI library before the first of
/// them has left: enough to keep it busy, few enough to end on time, even if a crowd gets a tenth
/// of what each flow gets alone. TCP's own buffers hold what is in flight.
constexpr std::size_t ahead = 4;

/// Receives of a burst that are posted at the same time: more than arrive between two looks.
constexpr std::size_t most_receives = 256;

/// As many as that only where those of all bursts fit into so many bytes: hundreds of flows of a
/// long fast path would need gigabytes, and the time to get them.
constexpr std::size_t receive_memory = std::size_t{256} << 20;

/// What replies have: journals of probes with other replies have other keys.
constexpr std::int64_t reply_format = 2;

/// One end of a burst.
struct Stream {
  Burst burst;
  std::int64_t id = 0;
  int peer = 0;
  bool receives = false;
  Nanoseconds stop = 0;                ///< when a sender stops; 0: when it has sent all
  std::size_t at_once = 1;             ///< messages that the buffer holds
  std::unique_ptr<std::byte[]> buffer; ///< what it holds doesn't matter
  std::vector<MPI_Request> requests;
  std::size_t completed = 0; ///< always the lowest ones
  Arrivals arrivals;         ///< of the received messages

  /// @param receiving how many streams of this rank receive
  void allocate(std::size_t receiving) {
    const auto size = static_cast<std::size_t>(burst.size);
    if (!receives) {
      buffer = std::make_unique<std::byte[]>(size);
      return;
    }
    const std::size_t share = receive_memory / receiving / std::max<std::size_t>(size, 1);
    at_once = std::min(count(), std::clamp(share, ahead, most_receives));
    buffer = std::make_unique_for_overwrite<std::byte[]>(at_once * size);
  }
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(burst.count); }
  [[nodiscard]] bool finished() const { return completed == count(); }
  [[nodiscard]] bool may_post() const {
    if (receives && requests.size() >= completed + at_once) return false;
    return requests.size() < count() && (stop == 0 || requests.size() < completed + ahead);
  }
  /// Posts the next message. After the time to stop the others are empty, since the receiver
  /// expects as many.
  void post(const Channel& channel) {
    const auto lane = static_cast<int>(id);
    const auto at = requests.size() % at_once * static_cast<std::size_t>(burst.size);
    const Size size = stop != 0 && now() > stop ? 0 : burst.size;
    requests.push_back(
        receives ? channel.post_receive(buffer.get() + at, burst.size, peer, Tag::stream, lane)
                 : channel.post_send(buffer.get(), size, peer, Tag::stream, lane));
  }
  /// Records what has completed; returns whether anything has.
  bool advance() {
    const auto before = completed;
    for (int done = 0; completed < requests.size(); ++completed) {
      MPI_Status status;
      MPI_Test(&requests[completed], &done, &status);
      if (done == 0) break;
      int bytes = 0;
      if (receives) MPI_Get_count(&status, MPI_BYTE, &bytes);
      if (bytes > 0) arrivals.add(now());
    }
    return completed > before;
  }
};

std::vector<Stream> streams_of(const Words& order, int rank) {
  std::vector<Stream> streams;
  for (std::size_t at = 2; at < order.size();) {
    Stream stream;
    stream.id = extract<std::int64_t>(order, at);
    stream.burst = extract<Burst>(order, at);
    stream.receives = stream.burst.to == rank;
    stream.peer = static_cast<int>(stream.receives ? stream.burst.from : stream.burst.to);
    streams.push_back(std::move(stream));
  }
  const auto receiving = static_cast<std::size_t>(
      std::ranges::count_if(streams, [](const Stream& stream) { return stream.receives; }));
  for (Stream& stream : streams)
    stream.allocate(receiving);
  return streams;
}

/// Posts receives before sends; the sends of several bursts take turns.
void post_all(const Channel& channel, std::vector<Stream>& streams) {
  for (auto& stream : streams)
    while (stream.receives && stream.may_post())
      stream.post(channel);
  for (bool more = true; more;) {
    more = false;
    for (auto& stream : streams)
      if (stream.may_post()) stream.post(channel), more = true;
  }
}

void wait_for_all(const Channel& channel, std::vector<Stream>& streams) {
  for (auto last = now();;) {
    bool advanced = false;
    const Stream* open = nullptr;
    for (auto& stream : streams) {
      advanced = stream.advance() || advanced;
      while (stream.may_post())
        stream.post(channel);
      if (!stream.finished()) open = &stream;
    }
    if (open == nullptr) return;
    if (advanced)
      last = now();
    else if (now() > last + channel.patience())
      throw Silence(open->peer);
    else
      sched_yield();
  }
}

} // namespace

Words transfer(const Channel& channel, const Words& order) {
  const Buffers all(streams_of(order, channel.rank()));
  auto& streams = *all;
  sleep_until(order[1]);
  for (auto& stream : streams)
    if (!stream.receives && stream.burst.limit > 0) stream.stop = now() + stream.burst.limit;
  post_all(channel, streams);
  wait_for_all(channel, streams);
  Words reply;
  for (const auto& stream : streams) {
    if (!stream.receives) continue;
    const std::vector<Nanoseconds>& times = stream.arrivals.times();
    reply.push_back(stream.id);
    reply.push_back(stream.arrivals.every());
    reply.push_back(static_cast<std::int64_t>(times.size()));
    reply.insert(reply.end(), times.begin(), times.end());
  }
  return reply;
}

Nanoseconds LiveProber::lead(std::span<const Assignment> assignments) const {
  Nanoseconds farthest = 0;
  for (const auto& assignment : assignments)
    if (!_distances.empty())
      farthest = std::max(farthest, _distances[static_cast<std::size_t>(assignment.rank)]);
  return farthest + ordering * static_cast<Nanoseconds>(assignments.size());
}

std::vector<FlowArrivals> LiveProber::transfer(std::span<const Burst> bursts,
                                               const std::string& what) {
  std::map<int, Words> orders;
  Job job{{}, 0, what, {reply_format}};
  for (std::size_t i = 0; i < bursts.size(); ++i) {
    append(job.key, bursts[i]);
    for (std::int64_t host : {bursts[i].from, bursts[i].to}) {
      auto& order =
          orders.try_emplace(static_cast<int>(host), begin(Command::transfer)).first->second;
      append(order, static_cast<std::int64_t>(i));
      append(order, bursts[i]);
    }
  }
  for (auto& [rank, order] : orders)
    job.assignments.push_back({rank, std::move(order)});
  job.lead = lead(job.assignments);
  job.expected = *job.lead;
  if (!bursts.empty()) job.expected += std::ranges::max(bursts, {}, &Burst::limit).limit;
  const auto replies = _coordinator.run(job);

  std::vector<FlowArrivals> received(bursts.size());
  for (std::size_t a = 0; a < replies.size(); ++a) {
    const auto offset = _coordinator.offsets[static_cast<std::size_t>(job.assignments[a].rank)];
    for (std::size_t at = 0; at < replies[a].size();) {
      const auto id = static_cast<std::size_t>(replies[a][at++]);
      received[id].message = bursts[id].size * replies[a][at++];
      for (auto left = replies[a][at++]; left > 0; --left)
        received[id].arrivals.push_back(replies[a][at++] - offset);
    }
  }
  return received;
}

} // namespace thalweg::probe
