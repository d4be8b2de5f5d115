/// The split binary tree: half of the data flows down each side of a binary tree, then ranks of the
/// two sides exchange their halves.
/// Source: Pjesivac-Grbovic et al.: Performance Analysis of MPI Collective Operations, section
/// "Broadcast" (split-binary). With segments, each is exchanged as soon as it arrives.
#include "algorithms/order.hpp"
#include "algorithms/segments.hpp"
#include "algorithms/trees/tree.hpp"
#include "units/index.hpp"

#include <algorithm>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using collective::no_rank;
using schedule::How;
using schedule::Range;

/// The order is the root, the left side, then the right side, which may have one rank more.
struct Sides {
  explicit Sides(Rank ranks) : right(1 + (ranks - 1) / 2), ranks(ranks) {}
  [[nodiscard]] ChunkId half(Rank position) const { return position < right ? 0 : 1; }
  /// Returns the position with which `position` exchanges halves; 0 if that is the root, which has
  /// both already.
  [[nodiscard]] Rank partner(Rank position) const {
    if (position == 0) return 0;
    if (position < right) return position + right - 1;
    return position - right + 1 < right ? position - right + 1 : 0;
  }
  Rank right; ///< first position of the right side
  Rank ranks;
};

class SplitBinary final : public Algorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "split-binary"; }
  [[nodiscard]] std::string_view source() const override {
    return "Pjesivac-Grbovic et al.: Performance Analysis of MPI Collective Operations, section "
           "Broadcast (split-binary)";
  }
  [[nodiscard]] bool supports(Kind kind) const override { return kind == Kind::bcast; }
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override {
    return first_of(segmented(problem, 2), 2);
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    Skeleton skeleton = begin(problem, parameters);
    skeleton.chunks = 2;
    skeleton.period = 3; // a rank serves two others and exchanges
    skeleton.order = make_order(problem, parameters, problem.collective.root, Shape::chain);
    std::vector<Rank> joined, parents(skeleton.order.size(), no_rank);
    const std::span<const Rank> all(skeleton.order);
    const std::size_t right = index(Sides(skeleton.ranks).right);
    for (const auto& side : {all.subspan(1, right - 1), all.subspan(right)}) {
      if (side.empty()) continue;
      parents[index(side.front())] = all.front();
      join_evenly(side, 2, joined, parents);
    }
    skeleton.parents = {std::move(parents)};
    return skeleton;
  }

  void check(const Skeleton& skeleton) const override {
    check_lists(skeleton, {"order", "parents"});
    check_joining_tree(skeleton);
  }

  void emit(Kind /*kind*/, const Skeleton& skeleton, Rank rank, Sink& sink) const override {
    const std::vector<Rank>&order = skeleton.order, &parents = skeleton.parents.front();
    const Sides sides(skeleton.ranks);
    const auto wanted = [&](Rank a, Rank b) { return rank == no_rank || rank == a || rank == b; };
    // A parent comes before its children in the order.
    std::vector<Step> next(order.size()), arrived(order.size());
    for (Rank position = 1; position < skeleton.ranks; ++position) {
      const Rank child = order[index(position)], parent = parents[index(child)];
      const Step sent = next[index(parent)]++;
      arrived[index(child)] = next[index(child)] = sent + 1;
      if (wanted(parent, child))
        sink.add(parent, child, sent, How::copy, Range{sides.half(position), 1, 1});
    }
    const Step end = *std::ranges::max_element(arrived);
    for (Rank position = 1; position < skeleton.ranks; ++position) {
      const Rank to = order[index(position)], from = order[index(sides.partner(position))];
      const ChunkId other = 1 - sides.half(position);
      if (wanted(from, to)) sink.add(from, to, end, How::copy, Range{other, 1, 1});
    }
    sink.sort();
  }
};

} // namespace

const Algorithm& split_binary() {
  static const SplitBinary algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
