#include "probe/transfer.hpp"

#include <algorithm>
#include <map>
#include <sched.h>

namespace thalweg::probe {
namespace {

/// One end of a burst.
struct Stream {
  Burst burst;
  std::int64_t id = 0;
  int peer = 0;
  bool receives = false;
  std::vector<std::byte> buffer;
  std::vector<MPI_Request> requests;
  std::vector<Nanoseconds> times; // of the completed requests, always the lowest ones

  void post(const Channel& channel, std::int64_t message) {
    const auto lane = static_cast<int>(id);
    requests.push_back(receives
                           ? channel.post_receive(buffer.data() + message * burst.size, burst.size,
                                                  peer, Tag::stream, lane)
                           : channel.post_send(buffer.data(), burst.size, peer, Tag::stream, lane));
  }
  [[nodiscard]] bool finished() const {
    return times.size() == static_cast<std::size_t>(burst.count);
  }
  /// Records what has completed; returns whether anything has.
  bool advance() {
    const auto before = times.size();
    for (int done = 0; !finished(); times.push_back(now())) {
      MPI_Test(&requests[times.size()], &done, MPI_STATUS_IGNORE);
      if (done == 0) break;
    }
    return times.size() > before;
  }
};

std::vector<Stream> streams_of(const Words& order, int rank) {
  std::vector<Stream> streams;
  for (std::size_t at = 1; at < order.size();) {
    Stream stream;
    stream.id = extract<std::int64_t>(order, at);
    stream.burst = extract<Burst>(order, at);
    stream.receives = stream.burst.to == rank;
    stream.peer = static_cast<int>(stream.receives ? stream.burst.from : stream.burst.to);
    const auto messages = stream.receives ? stream.burst.count : 1;
    stream.buffer.resize(static_cast<std::size_t>(messages * stream.burst.size));
    streams.push_back(std::move(stream));
  }
  return streams;
}

/// Posts receives before sends; the sends of several bursts take turns.
void post_all(const Channel& channel, std::vector<Stream>& streams) {
  for (auto& stream : streams)
    for (std::int64_t m = 0; stream.receives && m < stream.burst.count; ++m)
      stream.post(channel, m);
  bool more = true;
  for (std::int64_t m = 0; more; ++m) {
    more = false;
    for (auto& stream : streams)
      if (!stream.receives && m < stream.burst.count) stream.post(channel, m), more = true;
  }
}

void wait_for_all(const Channel& channel, std::vector<Stream>& streams) {
  for (auto last = now();;) {
    bool advanced = false;
    const Stream* open = nullptr;
    for (auto& stream : streams) {
      advanced = stream.advance() || advanced;
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
  auto streams = streams_of(order, channel.rank());
  post_all(channel, streams);
  wait_for_all(channel, streams);
  Words reply;
  for (const auto& stream : streams) {
    if (!stream.receives) continue;
    reply.push_back(stream.id);
    reply.insert(reply.end(), stream.times.begin(), stream.times.end());
  }
  return reply;
}

std::vector<Flow> transfer_all(Coordinator& coordinator, std::span<const Burst> bursts,
                               Nanoseconds expected, const std::string& what) {
  std::map<int, Words> orders;
  Job job{{}, expected, what, {}};
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
  const auto replies = coordinator.run(job);

  std::vector<Flow> flows(bursts.size());
  for (std::size_t a = 0; a < replies.size(); ++a) {
    const auto offset = coordinator.offsets[static_cast<std::size_t>(job.assignments[a].rank)];
    for (std::size_t at = 0; at < replies[a].size();) {
      const auto id = static_cast<std::size_t>(replies[a][at++]);
      flows[id].message = bursts[id].size;
      for (std::int64_t m = 0; m < bursts[id].count; ++m)
        flows[id].arrivals.push_back(replies[a][at++] - offset);
    }
  }
  return flows;
}

} // namespace thalweg::probe
