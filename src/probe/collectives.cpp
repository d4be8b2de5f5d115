#include "probe/collectives.hpp"

#include "collective/collective.hpp"
#include "probe/prober.hpp"
#include "probe/watchdog.hpp"

#include <algorithm>
#include <array>

namespace thalweg::probe {
namespace {

using collective::Kind;

/// Bytes of a vector, or of all blocks that a rank contributes or gets. The first ones of all
/// collectives tell more than all of one: they come first.
constexpr std::array<Size, 6> sizes{1'000, 32'000, 1'000'000, 8'000, 256'000, 8'000'000};
constexpr std::size_t most_repetitions = 5;
constexpr Nanoseconds slack = 3'000'000; // for the orders to be read and the ranks to be ready

/// A collective to time; the size as Collective::size, whole elements.
struct Cell {
  Kind kind{};
  Size size = 0;
};

/// In the order in which they are timed.
std::vector<Cell> all_cells(int ranks) {
  std::vector<Cell> cells;
  for (const Size size : sizes)
    for (const Kind kind : collective::kinds) {
      const bool has_blocks = collective::Collective{.kind = kind, .ranks = 2}.blocks() > 1;
      const auto elements = (has_blocks ? size / ranks : size) / static_cast<Size>(sizeof(float));
      const Cell cell{kind, std::max<Size>(elements, 1) * static_cast<Size>(sizeof(float))};
      if (kind != Kind::barrier)
        cells.push_back(cell);
      else if (size == sizes.front())
        cells.push_back({kind, 0});
    }
  return cells;
}

struct CallOrder {
  Cell cell;
  Nanoseconds limit = 0; // no call takes longer unless a rank has died
};

struct CallReply {
  Nanoseconds entry = 0, exit = 0;
};

/// Nanoseconds of one call on the wall clock. @param expected how long it may take, roughly
double time_once(Coordinator& coordinator, const Cell& cell, Nanoseconds farthest,
                 Nanoseconds expected) {
  const auto limit = 10 * expected + 2 * coordinator.channel.patience();
  Job job{{},
          limit,
          "timing the MPI library's collectives",
          {static_cast<std::int64_t>(cell.kind), cell.size},
          farthest + ordering * coordinator.hosts() + slack};
  for (int rank = 0; rank < coordinator.hosts(); ++rank) {
    auto order = begin(Command::collective);
    append(order, CallOrder{cell, limit});
    job.assignments.push_back({rank, std::move(order)});
  }
  const auto replies = coordinator.run(job);
  Nanoseconds entry = 0, exit = 0;
  for (std::size_t rank = 0; rank < replies.size(); ++rank) {
    std::size_t at = 0;
    const auto reply = extract<CallReply>(replies[rank], at);
    const auto offset = coordinator.offsets[rank];
    if (!collective::begins_at_root(cell.kind) || rank == 0)
      entry = std::max(entry, reply.entry - offset);
    exit = std::max(exit, reply.exit - offset);
  }
  return static_cast<double>(exit - entry);
}

/// Whether two of the times agree: more would hardly change the median.
bool agree(std::vector<double> times) {
  constexpr double tolerance = 0.03;
  std::ranges::sort(times);
  for (std::size_t i = 1; i < times.size(); ++i)
    if (times[i] <= times[i - 1] * (1 + tolerance)) return true;
  return false;
}

/// The median of repetitions, as many as end before `enough`, or until two agree.
double time_repeatedly(Coordinator& coordinator, const Cell& cell, Nanoseconds farthest,
                       Nanoseconds expected, Nanoseconds enough) {
  std::vector<double> times;
  while (times.empty() ||
         (times.size() < most_repetitions && coordinator.clock() < enough && !agree(times)))
    times.push_back(time_once(coordinator, cell, farthest, expected));
  return median(times);
}

/// Nanoseconds that a call will take at most, if time grows in proportion to the size from the
/// nearest smaller one; zero if none is known.
Nanoseconds guess(const Coordinator& coordinator, const std::vector<network::NativeTime>& known,
                  const Cell& cell) {
  const network::NativeTime* nearest = nullptr;
  for (const network::NativeTime& native : known)
    if (native.collective == collective::to_text(cell.kind) && native.size <= cell.size &&
        (nearest == nullptr || native.size > nearest->size))
      nearest = &native;
  if (nearest == nullptr) return 0;
  const double times =
      static_cast<double>(cell.size) / static_cast<double>(std::max<Size>(nearest->size, 1));
  return coordinator.dilated(nearest->time * times);
}

/// Calls the library on vectors of floats.
void call(const Cell& cell, const std::vector<float>& in, std::vector<float>& out, MPI_Comm comm) {
  const auto count = static_cast<int>(cell.size / static_cast<Size>(sizeof(float)));
  const auto type = MPI_FLOAT;
  switch (cell.kind) {
  case Kind::bcast:
    MPI_Bcast(out.data(), count, type, 0, comm);
    return;
  case Kind::reduce:
    MPI_Reduce(in.data(), out.data(), count, type, MPI_SUM, 0, comm);
    return;
  case Kind::allreduce:
    MPI_Allreduce(in.data(), out.data(), count, type, MPI_SUM, comm);
    return;
  case Kind::gather:
    MPI_Gather(in.data(), count, type, out.data(), count, type, 0, comm);
    return;
  case Kind::scatter:
    MPI_Scatter(in.data(), count, type, out.data(), count, type, 0, comm);
    return;
  case Kind::allgather:
    MPI_Allgather(in.data(), count, type, out.data(), count, type, comm);
    return;
  case Kind::alltoall:
    MPI_Alltoall(in.data(), count, type, out.data(), count, type, comm);
    return;
  case Kind::reduce_scatter:
    MPI_Reduce_scatter_block(in.data(), out.data(), count, type, MPI_SUM, comm);
    return;
  case Kind::scan:
    MPI_Scan(in.data(), out.data(), count, type, MPI_SUM, comm);
    return;
  case Kind::exscan:
    MPI_Exscan(in.data(), out.data(), count, type, MPI_SUM, comm);
    return;
  case Kind::barrier:
    MPI_Barrier(comm);
    return;
  }
}

} // namespace

Words time_collective(const Channel& channel, const Words& words) {
  const Nanoseconds start = words[1];
  std::size_t at = 2;
  const auto order = extract<CallOrder>(words, at);
  const bool has_blocks = collective::Collective{.kind = order.cell.kind, .ranks = 2}.blocks() > 1;
  const auto count = static_cast<std::size_t>(order.cell.size) / sizeof(float) *
                     static_cast<std::size_t>(has_blocks ? channel.size() : 1);
  std::vector<float> in(count, 1.0F), out(count);
  sleep_until(start);
  const watchdog::CollectiveCall limit(order.limit);
  CallReply times;
  times.entry = now();
  call(order.cell, in, out, channel.comm());
  times.exit = now();
  Words reply;
  append(reply, times);
  return reply;
}

std::vector<network::NativeTime> measure_collectives(Coordinator& coordinator,
                                                     Nanoseconds farthest) {
  const auto deadline = coordinator.native_deadline();
  const std::vector<Cell> cells = all_cells(coordinator.hosts());
  std::vector<network::NativeTime> result;
  for (const Cell& cell : cells) { // opens the connections of those that there is time to measure
    const bool is_first = &cell == &cells.front(); // which is measured in any case
    if (cell.kind == Kind::barrier || (!is_first && coordinator.clock() >= deadline)) break;
    time_once(coordinator, cell, farthest, 0);
  }
  for (std::size_t step = 0; step < cells.size(); ++step) {
    const Cell& cell = cells[step];
    coordinator.report.progress("native collectives", step + 1, cells.size());
    const auto begin = coordinator.clock(), expected = guess(coordinator, result, cell);
    if (!result.empty() && begin + expected > deadline) continue;
    const auto share_of_rest =
        std::max<Nanoseconds>(deadline - begin, 0) / static_cast<Nanoseconds>(cells.size() - step);
    const double time =
        time_repeatedly(coordinator, cell, farthest, expected, begin + share_of_rest);
    result.push_back({THALWEG_LIBRARY, std::string(collective::to_text(cell.kind)), cell.size,
                      coordinator.undilated(time)});
  }
  return result;
}

} // namespace thalweg::probe
