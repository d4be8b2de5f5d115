/// Allgather by recursive doubling: in each round ranks exchange all they have with the one at
/// twice the distance.
/// Source: Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in
/// MPICH, section "Allgather".
#include "algorithms/rounds/rounds.hpp"

namespace thalweg::algorithms {
namespace {

using collective::Kind;

class RecursiveDoublingAllgather final : public RoundAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "recursive-doubling-allgather"; }
  [[nodiscard]] std::string_view source() const override {
    return "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
           "MPICH, section Allgather";
  }
  [[nodiscard]] bool supports(Kind kind) const override { return kind == Kind::allgather; }

protected:
  [[nodiscard]] Step rounds(Kind /*kind*/, Rank ranks) const override {
    return DoublingRounds(ranks).count();
  }
  [[nodiscard]] Rank receiver(Rank ranks, Rank position, Step round) const override {
    return DoublingRounds(ranks).receiver(position, round);
  }
  [[nodiscard]] Rank sender(Rank ranks, Rank position, Step round) const override {
    return DoublingRounds(ranks).sender(position, round);
  }
  [[nodiscard]] Message message(Kind /*kind*/, const Circle& circle, Rank from, Rank /*to*/,
                                Step round) const override {
    const auto [first, count] = DoublingRounds(circle.size()).sent(from, round);
    return {circle.chunks(first, count)};
  }
};

} // namespace

const Algorithm& recursive_doubling_allgather() {
  static const RecursiveDoublingAllgather algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
