/// Scatter and allgather: the root scatters the data along a binomial tree, one chunk per rank,
/// then the chunks go around a ring, except those that a rank has from the scatter.
/// Source: Barnett, Gupta, Payne, Shuler, van de Geijn, Watts: Interprocessor Collective
/// Communication Library, section on long vectors; Thakur, Rabenseifner, Gropp: Optimization of
/// Collective Communication Operations in MPICH, section "Broadcast".
#include "algorithms/order.hpp"
#include "algorithms/segments.hpp"

#include <algorithm>
#include <bit>

namespace thalweg::algorithms {
namespace {

using schedule::How;
using schedule::Range;
using schedule::Step;

Rank at(const std::vector<Rank>& order, Rank position) {
  return order[static_cast<std::size_t>(position % static_cast<Rank>(order.size()))];
}

/// Calls `visit(half, step)` for the rounds of a binomial tree: in each, positions that are
/// multiples of 2 · half serve the one `half` further on.
template <class Visit>
void for_each_round(Rank ranks, Visit visit) {
  Step step = 0;
  for (Rank half = static_cast<Rank>(std::bit_ceil(static_cast<std::uint32_t>(ranks)) / 2);
       half > 0; half /= 2)
    visit(half, step++);
}

/// Adds the scatter's message to a position, with the chunks of its whole subtree; none to the
/// root.
void add_scatter(const std::vector<Rank>& order, Rank position, Sink& sink) {
  const auto ranks = static_cast<Rank>(order.size());
  for_each_round(ranks, [&](Rank half, Step step) {
    if (position % (2 * half) == half)
      sink.add(at(order, position - half), at(order, position), step, How::copy,
               Range{position, std::min(half, ranks - position), 1});
  });
}

/// Adds the allgather's messages to a position.
void add_allgather(const std::vector<Rank>& order, Rank position, Step begin, Sink& sink) {
  const auto ranks = static_cast<Rank>(order.size());
  if (position == 0) return; // the root has all chunks
  for (Step step = 0; step < ranks - 1; ++step) {
    const ChunkId chunk = (position - 1 - step + ranks) % ranks;
    // Chunks from the scatter are there already.
    const Rank subtree = position & -position;
    if (chunk >= position && chunk < position + subtree) continue;
    sink.add(at(order, position - 1), at(order, position), begin + step, How::copy,
             Range{chunk, 1, 1});
  }
}

class ScatterAllgather final : public Algorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "scatter-allgather"; }
  [[nodiscard]] std::string_view source() const override {
    return "Barnett et al.: Interprocessor Collective Communication Library; Thakur, Rabenseifner, "
           "Gropp: Optimization of Collective Communication Operations in MPICH, section Broadcast";
  }
  [[nodiscard]] bool supports(collective::Kind kind) const override {
    return kind == collective::Kind::bcast;
  }
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override {
    return segmented(problem, problem.collective.ranks);
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    Skeleton skeleton = begin(problem, parameters);
    skeleton.chunks = skeleton.ranks;
    skeleton.window = one_at_a_time(parameters); // the scatter's halves add up to the data once
    skeleton.order = make_order(problem, parameters, problem.collective.root, Shape::chain);
    return skeleton;
  }

  void emit(collective::Kind /*kind*/, const Skeleton& skeleton, Rank rank,
            Sink& sink) const override {
    const std::vector<Rank>& order = skeleton.order;
    const Rank ranks = skeleton.ranks;
    Step begin = 0;
    for_each_round(ranks, [&](Rank, Step) { ++begin; });
    if (rank == collective::no_rank) {
      for (Rank position = 0; position < ranks; ++position) {
        add_scatter(order, position, sink);
        add_allgather(order, position, begin, sink);
      }
    } else if (ranks > 1) {
      const auto position = static_cast<Rank>(std::ranges::find(order, rank) - order.begin());
      add_scatter(order, position, sink);
      for_each_round(ranks, [&](Rank half, Step) {
        if (position % (2 * half) == 0 && position + half < ranks)
          add_scatter(order, position + half, sink);
      });
      add_allgather(order, position, begin, sink);
      if (position + 1 < ranks) add_allgather(order, position + 1, begin, sink);
    }
    sink.sort();
  }
};

} // namespace

const Algorithm& scatter_allgather() {
  static const ScatterAllgather algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
