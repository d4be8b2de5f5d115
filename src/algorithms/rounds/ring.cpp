/// The ring. Allgather: in p - 1 rounds the blocks go around. Reduce_scatter: each block goes
/// around to its owner and collects all contributions. Allreduce: one after the other. Each rank
/// sends and receives (p - 1) / p of the data in each half, the least possible among equals, and
/// uses each link of the ring in one direction only.
/// Source: Patarasuk, Yuan: Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations,
/// section "The logical ring based algorithm"; Thakur, Rabenseifner, Gropp: Optimization of
/// Collective Communication Operations in MPICH, section "Allgather". With segments, it is Open
/// MPI's segmented ring.
#include "algorithms/rounds/rounds.hpp"
#include "algorithms/segments.hpp"

#include <bit>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using schedule::How;

class Ring final : public RoundAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "ring"; }
  [[nodiscard]] std::string_view source() const override {
    return "Patarasuk, Yuan: Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations";
  }
  [[nodiscard]] bool supports(Kind kind) const override {
    return kind == Kind::allreduce || kind == Kind::allgather || kind == Kind::reduce_scatter;
  }
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& problem) const override {
    if (problem.collective.kind == Kind::allreduce)
      return segmented(problem, problem.collective.ranks);
    // A few segments keep links busy while others are in flight; more of them only add messages.
    const auto size = static_cast<std::uint64_t>(problem.collective.size);
    std::vector<Parameters> candidates;
    for (const std::uint64_t segments : {4U, 16U})
      if (size >= segments * segments * 1024)
        candidates.push_back({.segment_size = static_cast<Size>(std::bit_ceil(size / segments))});
    candidates.emplace_back();
    return candidates;
  }

protected:
  [[nodiscard]] Step rounds(Kind kind, Rank ranks) const override {
    return (kind == Kind::allreduce ? 2 : 1) * (ranks - 1);
  }
  [[nodiscard]] Rank receiver(Rank ranks, Rank position, Step /*round*/) const override {
    return (position + 1) % ranks;
  }
  [[nodiscard]] Rank sender(Rank ranks, Rank position, Step /*round*/) const override {
    return (position + ranks - 1) % ranks;
  }
  [[nodiscard]] Message message(Kind kind, const Circle& circle, Rank from, Rank to,
                                Step round) const override {
    const Step turn = circle.size() - 1;
    if (kind == Kind::allgather || round >= turn) return {circle.chunks(from - round % turn)};
    // The lowest of the sender and all ranks that the chunk has passed.
    const Rank lowest = circle.lowest(from - round, round + 1);
    return {circle.chunks(from - round - 1),
            lowest < circle.at(to) ? How::combine_left : How::combine_right};
  }
};

} // namespace

const Algorithm& ring() {
  static const Ring algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
