#pragma once

#include "toys.hpp"

#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace thalweg::schedule::test {

/// The content of a place, described by the messages that made it: the last copy into it (-1: none
/// yet), and the combines since, whose order doesn't matter.
using Origin = std::pair<int, std::set<int>>;

/// The sources of every message's data, and every place's content at the end. Two schedules of the
/// same messages with equal dataflows compute the same, whatever their steps.
struct Dataflow {
  std::map<std::pair<int, ChunkId>, Origin> reads; ///< by message and chunk
  std::map<std::tuple<Rank, Reg, ChunkId>, Origin> end;
  bool operator==(const Dataflow&) const = default;
};

/// Returns none if two messages of one step write to one place, and not both combine.
inline std::optional<Dataflow> dataflow(const Toy& toy) {
  Dataflow flow;
  Step last = 0;
  for (const Message& m : toy.messages)
    last = std::max(last, m.step);
  const auto place = [&](Rank rank, Reg reg, ChunkId chunk) {
    return std::tuple(rank, reg, reg == 0 ? toy.collective.slot(rank, chunk) : chunk);
  };
  const auto visit = [&](Step step, auto f) {
    for (std::size_t i = 0; i < toy.messages.size(); ++i)
      for (const Range& range : toy.messages[i].what)
        for (ChunkId c = 0; toy.messages[i].step == step && c < range.count; ++c)
          f(static_cast<int>(i), toy.messages[i], range.first + c * range.stride);
  };
  const auto origin = [&](auto key) -> Origin& {
    return flow.end.try_emplace(key, -1, std::set<int>()).first->second;
  };
  for (Step step = 0; step <= last; ++step) {
    visit(step, [&](int i, const Message& m, ChunkId chunk) {
      flow.reads[{i, chunk}] = origin(place(m.from, m.src, chunk));
    });
    std::map<std::tuple<Rank, Reg, ChunkId>, bool> combined; // places written in this step
    bool conflict = false;
    visit(step, [&](int i, const Message& m, ChunkId chunk) {
      const bool combines = m.how != How::copy;
      const auto key = place(m.to, m.dst, chunk);
      const auto [entry, is_new] = combined.emplace(key, combines);
      conflict |= !is_new && !(entry->second && combines);
      if (combines)
        origin(key).second.insert(i);
      else
        origin(key) = {i, {}};
    });
    if (conflict) return {};
  }
  return flow;
}

} // namespace thalweg::schedule::test
