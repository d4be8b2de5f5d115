#include "probe/collectives.hpp"

#include "probe/watchdog.hpp"

#include <algorithm>
#include <array>

namespace thalweg::probe {
namespace {

constexpr std::array<Size, 6> sizes{1'000, 16'000, 64'000, 256'000, 1'000'000, 8'000'000};
constexpr std::size_t most_repetitions = 5;
constexpr Nanoseconds slack = 3'000'000; // for the orders to be read and the ranks to be ready

enum class Kind : std::int64_t { bcast, reduce, allreduce };
constexpr std::array kinds{Kind::bcast, Kind::reduce, Kind::allreduce};

std::string name_of(Kind kind) {
  return kind == Kind::bcast ? "bcast" : kind == Kind::reduce ? "reduce" : "allreduce";
}

struct CallOrder {
  Kind kind{};
  Size size = 0;
  Nanoseconds start = 0; // on the rank's own clock
  Nanoseconds limit = 0; // no call takes longer unless a rank has died
};

struct CallReply {
  Nanoseconds entry = 0, exit = 0;
};

/// Nanoseconds of one call on the wall clock. @param expected how long it may take, roughly
double time_once(Coordinator& coordinator, Kind kind, Size size, Nanoseconds farthest,
                 Nanoseconds expected) {
  const auto limit = 10 * expected + 2 * coordinator.channel.patience();
  const auto start = now() + farthest + slack;
  Job job{
      {}, limit, "timing the MPI library's collectives", {static_cast<std::int64_t>(kind), size}};
  for (int rank = 0; rank < coordinator.hosts(); ++rank) {
    auto order = begin(Command::collective);
    append(order, CallOrder{kind, size, start + coordinator.offsets[static_cast<std::size_t>(rank)],
                            limit});
    job.assignments.push_back({rank, std::move(order)});
  }
  const auto replies = coordinator.run(job);
  Nanoseconds entry = 0, exit = 0;
  for (std::size_t rank = 0; rank < replies.size(); ++rank) {
    std::size_t at = 0;
    const auto reply = extract<CallReply>(replies[rank], at);
    const auto offset = coordinator.offsets[rank];
    if (kind != Kind::bcast || rank == 0) entry = std::max(entry, reply.entry - offset);
    exit = std::max(exit, reply.exit - offset);
  }
  return static_cast<double>(exit - entry);
}

/// The median of repetitions, as many as go into a small part of the time left.
double time_repeatedly(Coordinator& coordinator, Kind kind, Size size, Nanoseconds farthest,
                       Nanoseconds expected, Nanoseconds deadline) {
  const auto begin = coordinator.clock();
  const auto enough = begin + std::max<Nanoseconds>(deadline - begin, 0) / 20;
  std::vector<double> times;
  while (times.empty() || (times.size() < most_repetitions && coordinator.clock() < enough))
    times.push_back(time_once(coordinator, kind, size, farthest, expected));
  return median(times);
}

/// Nanoseconds that a call will take at most, if time grows in proportion to size; zero if unknown.
Nanoseconds guess(const Coordinator& coordinator, const std::vector<network::NativeTime>& known,
                  Kind kind, Size size) {
  for (auto last = known.rbegin(); last != known.rend(); ++last)
    if (last->collective == name_of(kind))
      return coordinator.dilated(last->time *
                                 (static_cast<double>(size) / static_cast<double>(last->size)));
  return 0;
}

} // namespace

Words time_collective(const Channel& channel, const Words& words) {
  std::size_t at = 1;
  const auto order = extract<CallOrder>(words, at);
  const auto count = static_cast<std::size_t>(order.size) / sizeof(float);
  std::vector<float> in(count, 1.0F), out(count);
  sleep_until(order.start);
  const watchdog::CollectiveCall call(order.limit);
  CallReply times;
  times.entry = now();
  if (order.kind == Kind::bcast)
    MPI_Bcast(in.data(), static_cast<int>(count), MPI_FLOAT, 0, channel.comm());
  else if (order.kind == Kind::reduce)
    MPI_Reduce(in.data(), out.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM, 0,
               channel.comm());
  else
    MPI_Allreduce(in.data(), out.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                  channel.comm());
  times.exit = now();
  Words reply;
  append(reply, times);
  return reply;
}

std::vector<network::NativeTime> measure_collectives(Coordinator& coordinator, Nanoseconds farthest,
                                                     double share) {
  const auto deadline = coordinator.deadline(share);
  std::vector<network::NativeTime> result;
  std::size_t step = 0;
  for (Kind kind : kinds) // opens the connections
    time_once(coordinator, kind, sizes.front(), farthest, 0);
  for (Size size : sizes)
    for (Kind kind : kinds) {
      coordinator.report.progress("native collectives", ++step, kinds.size() * sizes.size());
      const auto expected = guess(coordinator, result, kind, size);
      if (size != sizes.front() && coordinator.clock() + expected > deadline) continue;
      const double time = time_repeatedly(coordinator, kind, size, farthest, expected, deadline);
      result.push_back({THALWEG_LIBRARY, name_of(kind), size, coordinator.undilated(time)});
    }
  return result;
}

} // namespace thalweg::probe
