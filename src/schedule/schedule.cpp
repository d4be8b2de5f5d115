#include "schedule/schedule.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace thalweg::schedule {

void Sink::add(Rank from, Rank to, Step step, How how, std::span<const Range> what, Reg src,
               Reg dst) {
  _entries.push_back({{from, to, step, how, src, dst, {}}, _ranges.size(), what.size()});
  _ranges.insert(_ranges.end(), what.begin(), what.end());
}

void Sink::add(Rank from, Rank to, Step step, How how, Range what, Reg src, Reg dst) {
  add(from, to, step, how, std::span<const Range>(&what, 1), src, dst);
}

void Sink::sort() {
  const auto key = [](const Entry& entry) {
    const Transfer& t = entry.transfer;
    return std::tuple(t.step, t.from, t.to);
  };
  std::ranges::stable_sort(_entries, {}, key);
}

void Sink::check(Rank ranks, ChunkId chunks) const {
  const auto is_rank = [&](Rank rank) { return rank >= 0 && rank < ranks; };
  const auto is_there = [&](const Range& range) {
    return range.first >= 0 && range.first < chunks && range.count >= 1 && range.stride >= 1 &&
           range.count - 1 <= (chunks - 1 - range.first) / range.stride;
  };
  const bool ranks_are = std::ranges::all_of(_entries, [&](const Entry& entry) {
    return is_rank(entry.transfer.from) && is_rank(entry.transfer.to) && entry.transfer.step >= 0 &&
           entry.transfer.step <= last_step;
  });
  if (!ranks_are || !std::ranges::all_of(_ranges, is_there))
    throw std::invalid_argument("a transfer of a plan names a rank, a step or a chunk that isn't "
                                "there: make the plan anew");
}

std::vector<Transfer> Sink::transfers() const {
  std::vector<Transfer> result;
  result.reserve(_entries.size());
  for (const Entry& entry : _entries) {
    result.push_back(entry.transfer);
    result.back().what = std::span(_ranges).subspan(entry.first_range, entry.range_count);
  }
  return result;
}

std::int32_t window_for(std::int64_t messages) {
  const auto within = std::clamp<std::int64_t>(messages, usual_window, widest_window);
  return static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint32_t>(within)));
}

Schedule::Schedule(ChunkId chunks, Pipeline pipeline, Sink sink, std::vector<std::int32_t> weights)
    : _chunks(chunks), _pipeline(pipeline), _weights(std::move(weights)), _sink(std::move(sink)),
      _transfers(_sink.transfers()) {
  if (_pipeline.segments < 1 || _pipeline.period < 1)
    throw std::invalid_argument("a schedule needs at least 1 segment and a period of at least 1, "
                                "not " +
                                std::to_string(_pipeline.segments) + " and " +
                                std::to_string(_pipeline.period));
  if (std::int64_t{std::max(_pipeline.segments - 1, 1)} * _pipeline.period > last_step)
    throw std::invalid_argument(
        "a schedule's last segment may begin at step " + std::to_string(last_step) + ", but " +
        std::to_string(_pipeline.segments) + " segments a period of " +
        std::to_string(_pipeline.period) + " apart need more: use fewer, or a shorter period");
  if (_pipeline.window < 0)
    throw std::invalid_argument("a schedule's window must be at least 1, or 0 for any, not " +
                                std::to_string(_pipeline.window));
  if (_chunks < 1)
    throw std::invalid_argument("a schedule needs at least 1 chunk, not " +
                                std::to_string(_chunks));
  if (!_weights.empty() && _chunks % static_cast<ChunkId>(_weights.size()) != 0)
    throw std::invalid_argument(std::to_string(_weights.size()) + " weights for " +
                                std::to_string(_chunks) + " chunks: each block needs its own");
  const ChunkId parts = _weights.empty() ? 1 : static_cast<ChunkId>(_weights.size());
  [[maybe_unused]] const Layout checked(0, 1, parts, _weights);
}

// The transfers point into the sink, so a copy makes its own.
Schedule::Schedule(const Schedule& other)
    : _chunks(other._chunks), _pipeline(other._pipeline), _weights(other._weights),
      _sink(other._sink), _transfers(_sink.transfers()) {}

Layout Schedule::layout_in(const Collective& collective, std::int32_t segments) const {
  if (!collective.block_sizes.empty()) return {collective.block_sizes, segments, _chunks, _weights};
  return {collective.total(), segments, _chunks, _weights, collective.blocks()};
}

} // namespace thalweg::schedule
