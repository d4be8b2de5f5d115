/// The ring: p - 1 steps in which each chunk collects all contributions on its way around, and p -
/// 1 in which the results go around. Each rank sends and receives 2 (p - 1) / p of the data, the
/// least there is among equals, and each link of the ring is used one way only. Source: Patarasuk,
/// Yuan: Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations, section "The logical
/// ring based algorithm".
#include "algorithms/order.hpp"
#include "algorithms/segments.hpp"

#include <algorithm>

namespace thalweg::algorithms {
namespace {

using schedule::How;
using schedule::Range;
using schedule::Step;

/// What the rank at one position of the ring sends to the next.
void add_sends(const std::vector<Rank>& order, Rank position, Sink& sink) {
  const auto ranks = static_cast<Rank>(order.size());
  const auto at = [&](Rank any) { return order[static_cast<std::size_t>((any + ranks) % ranks)]; };
  const Rank from = at(position), to = at(position + 1);
  Rank lowest = from; // of the contributions that the chunk has collected
  for (Step step = 0; step < ranks - 1; ++step) {
    lowest = std::min(lowest, at(position - step));
    sink.add(from, to, step, lowest < to ? How::combine_left : How::combine_right,
             Range{(position - step + ranks) % ranks, 1, 1});
  }
  for (Step step = 0; step < ranks - 1; ++step)
    sink.add(from, to, ranks - 1 + step, How::copy,
             Range{(position + 1 - step + ranks) % ranks, 1, 1});
}

class Ring final : public Algorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "ring"; }
  [[nodiscard]] std::string_view source() const override {
    return "Patarasuk, Yuan: Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations";
  }
  [[nodiscard]] bool supports(collective::Kind kind) const override {
    return kind == collective::Kind::allreduce;
  }
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override {
    return segmented(problem, problem.collective.ranks);
  }

  [[nodiscard]] Skeleton build(const Problem& problem,
                               const Parameters& parameters) const override {
    Skeleton skeleton;
    skeleton.algorithm = name();
    skeleton.ranks = skeleton.chunks = problem.collective.ranks;
    skeleton.segment_size = parameters.segment_size;
    skeleton.order = make_order(problem, parameters, 0, Shape::ring);
    return skeleton;
  }

  void emit(collective::Kind /*kind*/, const Skeleton& skeleton, Rank rank,
            Sink& sink) const override {
    const std::vector<Rank>& order = skeleton.order;
    const Rank ranks = skeleton.ranks;
    if (rank == collective::no_rank) {
      for (Rank position = 0; position < ranks; ++position)
        add_sends(order, position, sink);
    } else if (ranks > 1) {
      const auto position = static_cast<Rank>(std::ranges::find(order, rank) - order.begin());
      add_sends(order, position, sink);
      add_sends(order, (position + ranks - 1) % ranks, sink);
    }
    sink.sort();
  }
};

} // namespace

const Algorithm& ring() {
  static const Ring algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
