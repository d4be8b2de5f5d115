/// Neighbour exchange: an even number of ranks in a ring. Pairs exchange their blocks, then every
/// rank exchanges the two blocks it got last with its other neighbour and with the first one in
/// turn: half as many rounds as a ring takes.
/// Source: Chen, Zhang, Zhang, Yuan: Performance Evaluation of Allgather Algorithms on Terascale
/// Linux Cluster with Fast Ethernet.
#include "algorithms/rounds/rounds.hpp"

namespace thalweg::algorithms {
namespace {

using collective::Kind;

class NeighborExchange final : public RoundAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "neighbor-exchange"; }
  [[nodiscard]] std::string_view source() const override {
    return "Chen, Zhang, Zhang, Yuan: Performance Evaluation of Allgather Algorithms on Terascale "
           "Linux Cluster with Fast Ethernet";
  }
  [[nodiscard]] bool supports(Kind kind) const override { return kind == Kind::allgather; }
  [[nodiscard]] bool can_do(const Collective& collective) const override {
    return Algorithm::can_do(collective) && collective.ranks % 2 == 0;
  }
  [[nodiscard]] std::string_view needed_ranks() const override { return "an even number of ranks"; }

protected:
  [[nodiscard]] Step rounds(Kind /*kind*/, Rank ranks) const override { return ranks / 2; }
  [[nodiscard]] Rank receiver(Rank ranks, Rank position, Step round) const override {
    const Rank step = (position + round) % 2 == 0 ? 1 : -1;
    return (position + step + ranks) % ranks;
  }
  [[nodiscard]] Rank sender(Rank ranks, Rank position, Step round) const override {
    return receiver(ranks, position, round);
  }
  [[nodiscard]] Message message(Kind /*kind*/, const Circle& circle, Rank from, Rank /*to*/,
                                Step round) const override {
    if (round == 0) return {circle.chunks(from)};
    // The blocks that an even position got in the round before came in turn from pairs behind and
    // ahead of it, each time one further away; an odd position's from the other side.
    const Step before = round - 1;
    const Rank pairs = before % 2 == 0 ? before / 2 : -(before + 1) / 2;
    return {circle.chunks(from / 2 * 2 + 2 * (from % 2 == 0 ? pairs : -pairs), 2)};
  }
};

} // namespace

const Algorithm& neighbor_exchange() {
  static const NeighborExchange algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
