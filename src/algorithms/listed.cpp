/// A schedule made elsewhere, transfer by transfer: by a user's program or another tool
/// (docs/schedule-file.md).
#include "algorithms/listed.hpp"

#include "schedule/verify.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace thalweg::algorithms {
namespace {

using schedule::How;
using schedule::Range;
using schedule::Reg;
using schedule::Transfer;

constexpr std::string_view own_name = "listed";

/// Reads the integers of a list.
class ListReader {
public:
  explicit ListReader(std::span<const std::int64_t> left) : _left(left) {}
  [[nodiscard]] bool at_end() const { return _left.empty(); }

  /// Returns the next transfer, whose ranges stay valid until the following call; nothing if the
  /// list ends within it, or it doesn't have the form of a transfer.
  std::optional<Transfer> next() {
    if (_left.size() < head) return std::nullopt;
    for (std::size_t i = 0; i < head; ++i)
      if (!std::in_range<std::int32_t>(_left[i])) return std::nullopt;
    const std::int64_t how = _left[3], src = _left[4], dst = _left[5], ranges = _left[6];
    if (how < 0 || how > static_cast<std::int64_t>(How::combine_right) || src < 0 || src > 255 ||
        dst < 0 || dst > 255 || ranges < 1 ||
        static_cast<std::size_t>(ranges) > (_left.size() - head) / 3)
      return std::nullopt;
    _what.clear();
    for (std::size_t i = head; i < head + 3 * static_cast<std::size_t>(ranges); i += 3)
      _what.push_back({_left[i], _left[i + 1], _left[i + 2]});
    const Transfer transfer{static_cast<Rank>(_left[0]),
                            static_cast<Rank>(_left[1]),
                            static_cast<schedule::Step>(_left[2]),
                            static_cast<How>(how),
                            static_cast<Reg>(src),
                            static_cast<Reg>(dst),
                            _what};
    _left = _left.subspan(head + 3 * _what.size());
    return transfer;
  }

private:
  static constexpr std::size_t head = 7;
  std::span<const std::int64_t> _left;
  std::vector<Range> _what;
};

bool is_within(const Range& range, ChunkId chunks) {
  if (range.first < 0 || range.count < 1 || range.stride < 1 || range.first >= chunks) return false;
  return range.count - 1 <= (chunks - 1 - range.first) / range.stride;
}

bool is_within(const Transfer& transfer, const Skeleton& skeleton) {
  const auto is_rank = [&](Rank rank) { return rank >= 0 && rank < skeleton.ranks; };
  if (!is_rank(transfer.from) || !is_rank(transfer.to) || transfer.step < 0 ||
      transfer.step > schedule::last_step)
    return false;
  if (transfer.from == transfer.to && transfer.src == transfer.dst) return false;
  for (const Range& range : transfer.what)
    if (!is_within(range, skeleton.chunks)) return false;
  return true;
}

class Listed final : public Algorithm {
public:
  [[nodiscard]] std::string_view name() const override { return own_name; }
  [[nodiscard]] std::string_view source() const override { return "a schedule that was given"; }
  [[nodiscard]] bool supports(collective::Kind /*kind*/) const override { return false; }

  [[nodiscard]] bool takes(const Collective& /*collective*/) const override { return true; }

  [[nodiscard]] Skeleton build(const Problem& /*problem*/,
                               const Parameters& /*parameters*/) const override {
    throw std::invalid_argument("listed has no schedule of its own: give it one in a plan file, by "
                                "thalweg plan --schedule");
  }

  /// Checks that it has transfers, which ascend by (step, from, to) and name its ranks and chunks
  /// only.
  void check(const Skeleton& skeleton) const override {
    check_lists(skeleton, {"transfers"});
    ListReader reader(skeleton.transfers);
    std::tuple<schedule::Step, Rank, Rank> last{};
    bool is_sound = !skeleton.transfers.empty();
    while (is_sound && !reader.at_end()) {
      const std::optional<Transfer> t = reader.next();
      is_sound = t && is_within(*t, skeleton) && std::tuple(t->step, t->from, t->to) >= last;
      if (is_sound) last = {t->step, t->from, t->to};
    }
    if (!is_sound) throw std::invalid_argument("the list of transfers of a plan is damaged");
  }

  void emit(collective::Kind /*kind*/, const Skeleton& skeleton, Rank rank,
            Sink& sink) const override {
    ListReader reader(skeleton.transfers);
    while (!reader.at_end()) {
      const std::optional<Transfer> t = reader.next();
      if (!t) throw std::invalid_argument("the list of transfers of a plan is damaged");
      if (rank == collective::no_rank || t->from == rank || t->to == rank)
        sink.add(t->from, t->to, t->step, t->how, t->what, t->src, t->dst);
    }
  }
};

} // namespace

Skeleton list(const Collective& collective, const schedule::Schedule& schedule) {
  schedule::verify(collective, schedule);
  const schedule::Pipeline pipeline = schedule.pipeline();
  Skeleton skeleton;
  skeleton.algorithm = own_name;
  skeleton.ranks = collective.ranks;
  skeleton.root = collective.root;
  skeleton.chunks = schedule.chunks();
  skeleton.period = pipeline.period;
  skeleton.window = pipeline.window;
  skeleton.weights.assign(schedule.weights().begin(), schedule.weights().end());
  if (pipeline.segments > 1)
    skeleton.segment_size =
        std::max<Size>(1, (collective.size + pipeline.segments - 1) / pipeline.segments);
  if (const auto segments = skeleton.pipeline(collective.size).segments;
      segments != pipeline.segments)
    throw std::invalid_argument("plans have segments of a size, by which " +
                                std::to_string(collective.size) + " bytes are cut into " +
                                std::to_string(segments) + " segments, not into the " +
                                std::to_string(pipeline.segments) + " of the schedule: give it " +
                                std::to_string(segments));
  for (const Transfer& t : schedule.transfers()) {
    const std::array<std::int64_t, 7> head = {t.from,
                                              t.to,
                                              t.step,
                                              static_cast<std::int64_t>(t.how),
                                              t.src,
                                              t.dst,
                                              static_cast<std::int64_t>(t.what.size())};
    skeleton.transfers.insert(skeleton.transfers.end(), head.begin(), head.end());
    for (const Range& range : t.what) {
      const std::array<ChunkId, 3> numbers = {range.first, range.count, range.stride};
      skeleton.transfers.insert(skeleton.transfers.end(), numbers.begin(), numbers.end());
    }
  }
  return skeleton;
}

const Algorithm& listed() {
  static const Listed algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
