#include "schedule/verify.hpp"

#include "schedule/replay.hpp"

#include <stdexcept>
#include <string>
#include <tuple>

namespace thalweg::schedule {
namespace {

using collective::Kind;

void check_collective(const Collective& collective, const Schedule& schedule) {
  const std::string kind(collective::to_text(collective.kind));
  if (collective.ranks < 1 || collective.root < 0 || collective.root >= collective.ranks)
    throw std::invalid_argument("a " + kind + " of " + std::to_string(collective.ranks) +
                                " ranks can't have the root " + std::to_string(collective.root));
  const Rank ranks = collective.ranks;
  if (schedule.chunks() % collective.blocks() != 0)
    throw std::invalid_argument(
        "a " + kind + " of " + std::to_string(ranks) + " ranks needs a multiple of " +
        std::to_string(collective.blocks()) + " chunks, not " + std::to_string(schedule.chunks()));
  const ChunkId parts = schedule.chunks() / collective.blocks();
  if (!schedule.weights().empty() && static_cast<ChunkId>(schedule.weights().size()) != parts)
    throw std::invalid_argument("a block of this " + kind + " has " + std::to_string(parts) +
                                " parts, not " + std::to_string(schedule.weights().size()) +
                                " as it has weights");
  if (!collective.block_sizes.empty() &&
      static_cast<ChunkId>(collective.block_sizes.size()) != collective.blocks())
    throw std::invalid_argument("a " + kind + " of " + std::to_string(ranks) + " ranks has " +
                                std::to_string(collective.blocks()) + " blocks, not " +
                                std::to_string(collective.block_sizes.size()));
}

void check_range(const Transfer& transfer, const Range& range, ChunkId chunks) {
  if (range.count < 1 || range.stride < 1 || range.first < 0 || range.first >= chunks ||
      range.count - 1 > (chunks - 1 - range.first) / range.stride)
    throw std::invalid_argument(name(transfer) + "the range of " + std::to_string(range.count) +
                                " chunks from " + std::to_string(range.first) + " in steps of " +
                                std::to_string(range.stride) + " isn't within the " +
                                std::to_string(chunks) + " chunks");
}

void check_transfer(const Transfer& transfer, const Collective& collective, ChunkId chunks) {
  const auto is_rank = [&](Rank rank) { return rank >= 0 && rank < collective.ranks; };
  const auto fail = [&](const std::string& why) {
    throw std::invalid_argument(name(transfer) + why);
  };
  if (transfer.step < 0) fail("the step is below 0");
  if (transfer.step > last_step) fail("the last step is " + std::to_string(last_step));
  if (!is_rank(transfer.from) || !is_rank(transfer.to))
    fail("there are only the ranks 0 to " + std::to_string(collective.ranks - 1));
  if (transfer.how > How::combine_right) fail("it neither copies nor combines");
  if (transfer.from == transfer.to && transfer.src == transfer.dst)
    fail("a local transfer must go to another register");
  if (transfer.what.empty()) fail("it moves no chunk");
  for (const Range& range : transfer.what)
    check_range(transfer, range, chunks);
}

void check_transfers(const Collective& collective, const Schedule& schedule) {
  const Transfer* previous = nullptr;
  const auto key = [](const Transfer& t) { return std::tuple(t.step, t.from, t.to); };
  for (const Transfer& transfer : schedule.transfers()) {
    check_transfer(transfer, collective, schedule.chunks());
    if (previous != nullptr && key(transfer) < key(*previous))
      throw std::invalid_argument(name(transfer) + "comes after " + name(*previous) +
                                  "transfers must ascend by (step, from, to)");
    previous = &transfer;
  }
}

} // namespace

void check_form(const Collective& collective, const Schedule& schedule) {
  check_collective(collective, schedule);
  check_transfers(collective, schedule);
}

void verify(const Collective& collective, const Schedule& schedule) {
  check_form(collective, schedule);
  const Rank stride = collective.kind == Kind::barrier ? 64 : collective.ranks;
  for (std::int64_t first = 0; first < collective.ranks; first += stride)
    Replay(collective, schedule, static_cast<Rank>(first)).run();
}

} // namespace thalweg::schedule
