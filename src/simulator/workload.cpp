#include "simulator/workload.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace thalweg::simulator {

namespace {

using schedule::Range;
using schedule::Transfer;

/// Calls `visit` with each chunk of the ranges.
template <class Visit>
void for_each_chunk(std::span<const Range> what, Visit visit) {
  for (const Range& range : what)
    for (schedule::ChunkId i = 0; i < range.count; ++i)
      visit(range.first + i * range.stride);
}

/// Who has written and read each (register, chunk) of one rank after another: the last transfer to
/// write it, and those that have read it since.
class Accesses {
public:
  Accesses(std::size_t registers, std::size_t chunks)
      : _chunks(chunks), _places(registers * chunks) {}
  struct Place {
    std::int32_t epoch = 0, writer = -1;
    std::vector<std::int32_t> readers = {};
  };
  /// Forgets all.
  void next_rank() { ++_epoch; }
  Place& at(schedule::Reg reg, schedule::ChunkId chunk) {
    Place& place = _places[reg * _chunks + static_cast<std::size_t>(chunk)];
    if (place.epoch != _epoch) {
      place.readers.clear();
      place.writer = -1;
      place.epoch = _epoch;
    }
    return place;
  }

private:
  std::size_t _chunks;
  std::vector<Place> _places;
  std::int32_t _epoch = 0;
};

/// A wait of `transfer` for `other`.
struct Wait {
  std::int32_t other;
  Dependent dependent;
};

/// Finds the waits of one schedule.
class DependencyFinder {
public:
  DependencyFinder(std::span<const Transfer> transfers, std::size_t chunks)
      : _transfers(transfers), _accesses(registers(transfers), chunks),
        _known(2 * transfers.size(), -1) {}

  /// `own`: the transfers that one rank takes part in, in order.
  void visit(Rank rank, std::span<const std::int32_t> own) {
    _accesses.next_rank();
    for (std::size_t begin = 0, end = 0; begin < own.size(); begin = end) {
      while (end < own.size() && at(own[end]).step == at(own[begin]).step)
        ++end;
      const auto same_step = own.subspan(begin, end - begin);
      for (const std::int32_t id : same_step) // Reads see the state before the step.
        if (at(id).from == rank) read(id);
      for (const std::int32_t id : same_step)
        if (at(id).to == rank) write(id);
    }
  }
  [[nodiscard]] const std::vector<Wait>& waits() const { return _waits; }

private:
  static std::size_t registers(std::span<const Transfer> transfers) {
    std::size_t count = 1;
    for (const Transfer& t : transfers)
      count = std::max({count, std::size_t{t.src} + 1, std::size_t{t.dst} + 1});
    return count;
  }
  [[nodiscard]] const Transfer& at(std::int32_t id) const {
    return _transfers[static_cast<std::size_t>(id)];
  }
  void read(std::int32_t id) {
    ++_accessing;
    for_each_chunk(at(id).what, [&](auto chunk) {
      Accesses::Place& place = _accesses.at(at(id).src, chunk);
      if (place.writer >= 0) add(place.writer, {id, true, false});
      place.readers.push_back(id);
    });
  }
  void write(std::int32_t id) {
    ++_accessing;
    for_each_chunk(at(id).what, [&](auto chunk) {
      Accesses::Place& place = _accesses.at(at(id).dst, chunk);
      if (place.writer >= 0) add(place.writer, {id, false, false});
      for (const std::int32_t reader : place.readers)
        if (reader != id && at(reader).to != at(reader).from) add(reader, {id, false, true});
      place.readers.clear();
      place.writer = id;
    });
  }
  /// Once for each pair, however many chunks they have in common.
  void add(std::int32_t other, Dependent dependent) {
    const auto pair = 2 * static_cast<std::size_t>(other) + (dependent.sent ? 1 : 0);
    if (std::exchange(_known[pair], _accessing) != _accessing) _waits.push_back({other, dependent});
  }

  std::span<const Transfer> _transfers;
  Accesses _accesses;
  std::vector<Wait> _waits;
  std::int64_t _accessing = 0;      ///< counts reads and writes of transfers
  std::vector<std::int64_t> _known; ///< the access that waits for a transfer, or its being sent
};

} // namespace

Workload::Workload(const Collective& collective, const schedule::Schedule& schedule)
    : ranks(collective.ranks), pipeline(schedule.pipeline()) {
  const auto transfers = schedule.transfers();
  skip_empty = collective.total() > 0;
  if (transfers.size() * static_cast<std::size_t>(pipeline.segments) >
      static_cast<std::size_t>(std::numeric_limits<MessageId>::max()))
    throw std::invalid_argument("a schedule of " + std::to_string(transfers.size()) +
                                " transfers in " + std::to_string(pipeline.segments) +
                                " segments is too long to simulate: use larger segments");
  templates.reserve(transfers.size());
  for (const Transfer& t : transfers)
    templates.push_back({t.from, t.to, t.step, t.how != schedule::How::copy, 0, 0, 0});
  assert(std::is_sorted(templates.begin(), templates.end(),
                        [](const Template& a, const Template& b) { return a.step < b.step; }));
  find_connections();
  find_dependencies(schedule);
  measure(schedule, schedule.layout(collective));
  put_in_order();
}

void Workload::find_connections() {
  for (const Template& t : templates)
    connections.emplace_back(t.from, t.to);
  std::sort(connections.begin(), connections.end());
  connections.erase(std::unique(connections.begin(), connections.end()), connections.end());
  for (Template& t : templates)
    t.connection = static_cast<ConnectionId>(
        std::lower_bound(connections.begin(), connections.end(), std::pair(t.from, t.to)) -
        connections.begin());
}

void Workload::find_dependencies(const schedule::Schedule& schedule) {
  Rows<std::int32_t> own(static_cast<std::size_t>(ranks));
  const auto each_part = [&](auto visit) {
    for (std::size_t i = 0; i < templates.size(); ++i) {
      visit(static_cast<std::size_t>(templates[i].from), static_cast<std::int32_t>(i));
      if (templates[i].to != templates[i].from)
        visit(static_cast<std::size_t>(templates[i].to), static_cast<std::int32_t>(i));
    }
  };
  each_part([&](std::size_t rank, std::int32_t) { own.count(rank); });
  own.allocate();
  each_part([&](std::size_t rank, std::int32_t id) { own.add(rank, id); });

  DependencyFinder finder(schedule.transfers(), static_cast<std::size_t>(schedule.chunks()));
  for (Rank rank = 0; rank < ranks; ++rank)
    finder.visit(rank, own[static_cast<std::size_t>(rank)]);

  dependents = Rows<Dependent>(templates.size());
  for (const Wait& wait : finder.waits())
    dependents.count(static_cast<std::size_t>(wait.other));
  dependents.allocate();
  for (const Wait& wait : finder.waits()) {
    dependents.add(static_cast<std::size_t>(wait.other), wait.dependent);
    Template& waiting = templates[static_cast<std::size_t>(wait.dependent.transfer)];
    ++(wait.dependent.reads ? waiting.reads : waiting.writes);
  }
}

void Workload::measure(const schedule::Schedule& schedule, const schedule::Layout& layout) {
  sizes.reserve(templates.size() * static_cast<std::size_t>(pipeline.segments));
  for (std::int32_t segment = 0; segment < pipeline.segments; ++segment)
    for (const Transfer& transfer : schedule.transfers()) {
      Size size = 0;
      for (const Range& range : transfer.what)
        layout.for_each_interval(segment, range,
                                 [&](schedule::Interval interval) { size += interval.size(); });
      sizes.push_back(size);
    }
}

void Workload::put_in_order() {
  if (templates.empty()) {
    operations = Rows<Operation>(static_cast<std::size_t>(ranks));
    return;
  }
  // The transfers of step t are first[t - low] .. first[t - low + 1].
  const std::int64_t low = templates.front().step, high = templates.back().step;
  std::vector<std::size_t> first(static_cast<std::size_t>(high - low) + 2, 0);
  for (const Template& t : templates)
    ++first[static_cast<std::size_t>(t.step - low) + 1];
  for (std::size_t i = 1; i < first.size(); ++i)
    first[i] += first[i - 1];

  const std::int64_t period = std::max<std::int64_t>(1, pipeline.period);
  const std::int64_t last = pipeline.segments - 1;
  order.reserve(sizes.size());
  for (std::int64_t step = low; step <= high + last * period; ++step) {
    const std::int64_t begin = std::max<std::int64_t>(0, (step - high + period - 1) / period);
    for (std::int64_t s = begin; s <= last && step - s * period >= low; ++s) {
      const auto row = static_cast<std::size_t>(step - s * period - low);
      for (std::size_t i = first[row]; i < first[row + 1]; ++i) {
        const auto id = static_cast<MessageId>(static_cast<std::size_t>(s) * templates.size() + i);
        if (!left_out(id)) order.push_back(id);
      }
    }
  }

  operations = Rows<Operation>(static_cast<std::size_t>(ranks));
  traffic = Rows<MessageId>(connections.size());
  for (const MessageId id : order) {
    const Template& t = of(id);
    operations.count(static_cast<std::size_t>(t.from));
    if (t.to != t.from) operations.count(static_cast<std::size_t>(t.to));
    traffic.count(static_cast<std::size_t>(t.connection));
  }
  operations.allocate();
  traffic.allocate();
  for (const MessageId id : order) {
    const Template& t = of(id);
    operations.add(static_cast<std::size_t>(t.from), {id, true});
    if (t.to != t.from) operations.add(static_cast<std::size_t>(t.to), {id, false});
    traffic.add(static_cast<std::size_t>(t.connection), id);
  }
}

} // namespace thalweg::simulator
