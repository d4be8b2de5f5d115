#include "simulator/workload.hpp"

#include "units/index.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <string>
#include <utility>

namespace thalweg::simulator {

namespace {

/// The sizes of a segment's chunks, added up: a chunk is in many messages, but cut only once.
class SizeSums {
public:
  /// @param layout must outlive it
  explicit SizeSums(const schedule::Layout& layout)
      : _layout(layout), _sums(index(layout.chunks()) + 1, 0) {}

  void set_segment(std::int32_t segment) {
    for (std::size_t chunk = 0; chunk + 1 < _sums.size(); ++chunk)
      _sums[chunk + 1] =
          _sums[chunk] + _layout.interval(segment, static_cast<collective::ChunkId>(chunk)).size();
  }
  /// Returns the bytes of a range.
  [[nodiscard]] Size of(const schedule::Range& range) const {
    const std::size_t first = index(range.first), count = index(range.count);
    if (range.stride == 1) return _sums[first + count] - _sums[first];
    const std::size_t stride = index(range.stride);
    Size size = 0;
    for (std::size_t i = 0, at = first; i < count; ++i, at += stride)
      size += _sums[at + 1] - _sums[at];
    return size;
  }

private:
  const schedule::Layout& _layout;
  std::vector<Size> _sums; ///< of the chunks before each, and of all
};

} // namespace

Workload::Workload(const Collective& collective, const schedule::Schedule& schedule, Sizes wanted,
                   Size eager_limit)
    : ranks(collective.ranks), pipeline(schedule.pipeline()) {
  const auto transfers = schedule.transfers();
  skip_empty = collective.total() > 0;
  if (std::ssize(transfers) * std::int64_t{pipeline.segments} > most_messages)
    throw std::invalid_argument("a schedule of " + std::to_string(transfers.size()) +
                                " transfers in " + std::to_string(pipeline.segments) +
                                " segments is too long to simulate: use larger segments");
  templates.reserve(transfers.size());
  for (const schedule::Transfer& t : transfers)
    templates.push_back({t.from, t.to, t.step, t.how != schedule::How::copy, no_connection});
  assert(std::is_sorted(templates.begin(), templates.end(),
                        [](const Template& a, const Template& b) { return a.step < b.step; }));
  find_connections();
  operations = execution::Operations::of_all(transfers, ranks);
  find_ends();
  measure(collective, schedule, wanted);
  find_handshakes(eager_limit);
}

void Workload::find_connections() {
  std::vector<std::vector<Rank>> receivers(index(ranks)); // by sender
  for (const Template& t : templates)
    if (std::vector<Rank>& own = receivers[index(t.from)]; own.empty() || own.back() != t.to)
      own.push_back(t.to);
  std::vector<ConnectionId> first; // by sender
  for (Rank sender = 0; sender < ranks; ++sender) {
    std::vector<Rank>& own = receivers[index(sender)];
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    first.push_back(static_cast<ConnectionId>(connections.size()));
    for (const Rank receiver : own)
      connections.emplace_back(sender, receiver);
  }
  for (Template& t : templates) {
    const std::vector<Rank>& own = receivers[index(t.from)];
    const auto place = std::lower_bound(own.begin(), own.end(), t.to) - own.begin();
    t.connection = first[index(t.from)] + static_cast<ConnectionId>(place);
  }
}

void Workload::find_ends() {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto id = static_cast<execution::OperationId>(i);
    Template& t = templates[static_cast<std::size_t>(operations[id].transfer)];
    if (operations[id].does_read()) t.sending = id;
    if (operations[id].does_write()) t.receiving = id;
  }
}

void Workload::measure(const Collective& collective, const schedule::Schedule& schedule,
                       Sizes wanted) {
  // In one segment a transfer has the bytes that it has in all segments together.
  const std::int32_t measured = wanted == Sizes::exact ? pipeline.segments : 1;
  const double share = 1.0 / (wanted == Sizes::exact ? 1 : pipeline.segments);
  const std::int64_t times = wanted == Sizes::exact ? 1 : pipeline.segments;
  const schedule::Layout layout = schedule.layout_in(collective, measured);
  sizes.reserve(templates.size() * static_cast<std::size_t>(measured));
  SizeSums sums(layout);
  for (std::int32_t segment = 0; segment < measured; ++segment) {
    sums.set_segment(segment);
    for (const schedule::Transfer& transfer : schedule.transfers()) {
      Size size = 0;
      for (const schedule::Range& range : transfer.what)
        size += sums.of(range);
      sizes.push_back(static_cast<double>(size) * share);
      if (size > 0 || !skip_empty) messages += times;
    }
  }
}

void Workload::find_handshakes(Size eager_limit) {
  const auto limit = static_cast<double>(eager_limit);
  for (std::size_t first = 0; first < sizes.size(); first += templates.size())
    for (std::size_t i = 0; i < templates.size(); ++i)
      templates[i].handshake |= sizes[first + i] > limit;
}

execution::Executor::IsEmpty Workload::is_empty() const {
  if (messages == static_cast<std::int64_t>(sizes.size())) return {};
  return [this](execution::Item end) { return left_out(message(end)); };
}

std::vector<MessageId> Workload::in_order() const {
  std::vector<std::pair<std::int64_t, MessageId>> by_step;
  by_step.reserve(static_cast<std::size_t>(messages));
  for (std::size_t at = 0; at < sizes.size(); ++at) {
    const auto id = static_cast<MessageId>(at);
    if (left_out(id)) continue;
    const std::int64_t period = pipeline.period;
    by_step.emplace_back(of(id).step + segment(id) * period, id);
  }
  std::ranges::sort(by_step); // within a step: by segment, then in the order of the templates
  std::vector<MessageId> order;
  order.reserve(by_step.size());
  for (const auto& [step, id] : by_step)
    order.push_back(id);
  return order;
}

} // namespace thalweg::simulator
